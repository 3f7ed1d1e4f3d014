use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::recycler::detection::window::minute_of;
use jiff::{SignedDuration, Timestamp};
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::event_recycler::status::PastRecycle;
use machinist_api::names::FINALIZER_RECYCLER;
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::{Group, GroupName, GroupRef, Lifecycle, Member, Sizes};
use serde_json::{Value, json};

use super::detection::counting::{Counting, Located, Target};
use super::detection::occurrence::Occurrence;
use super::recycling::{self, GroupState};
use super::settings::Settings;
use super::snapshot::{Facts, GroupView, Snapshot};
use super::timings::RecyclerTimings;
use crate::kinds::Involved;
use crate::test_process::unanswered;

pub(super) const REGION: &str = "eu-west-3";

pub(super) fn now() -> Timestamp {
    "2026-11-16T02:00:00Z".parse().unwrap()
}

pub(super) fn ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) facts: Facts,
    pub(super) meta: Meta,
}

impl Sample {
    pub(super) fn new(more: &Value) -> Self {
        let mut spec = json!({"searchTerms": ["bad"], "threshold": 3, "countBy": "Events"});
        for (name, value) in more.as_object().unwrap() {
            spec[name] = value.clone();
        }
        let read = serde_json::from_value(spec).unwrap();
        let facts = Facts {
            generation: 1,
            finalizers: [FINALIZER_RECYCLER.to_owned()].into(),
            settings: Settings::read(Some(&read)).map(Arc::new),
            status: Arc::new(EventRecyclerStatus {
                observed_generation: Some(1),
                ..EventRecyclerStatus::default()
            }),
            counting: Counting { mark: Version(10), ..Counting::default() },
            position: Version(20),
            news: Vec::new(),
            incomplete: false,
            reopened: Vec::new(),
            others: Vec::new(),
            recycles: Vec::new(),
            unchecked: Vec::new(),
            groups: BTreeMap::new(),
            own_node: None,
            timings: RecyclerTimings::default(),
        };
        let meta = Meta {
            key: ObjectKey::new("", "er"),
            uid: Uid("er-uid".into()),
            version: Version(5),
            deleting: false,
        };
        Self { facts, meta }
    }

    pub(super) fn news_in(mut self, region: &str, group: &str, times: u32) -> Self {
        let target = Target::Group(GroupRef::new(region, group));
        self.facts.news.push(Located { target, ..news(group, "p", times, 0) });
        self
    }

    /// `times` events about pod `pod` of `group`, `minutes` ago.
    pub(super) fn news(mut self, group: &str, pod: &str, times: u32, minutes: i64) -> Self {
        self.facts.news.push(news(group, pod, times, minutes));
        self
    }

    pub(super) fn unmapped(mut self, pod: &str) -> Self {
        let target = Target::Unresolved("no node".to_owned());
        self.facts.news.push(Located { target, node: None, ..news("", pod, 1, 0) });
        self
    }

    pub(super) fn past(mut self, group: &str, status: &str, minutes: i64) -> Self {
        let status_now = Arc::make_mut(&mut self.facts.status);
        status_now.recycle_history.get_or_insert_default().push(PastRecycle {
            node_group: Some(group.to_owned()),
            region: Some(REGION.to_owned()),
            timestamp: Some(ago(minutes).to_string()),
            status: Some(status.to_owned()),
            ..PastRecycle::default()
        });
        self
    }

    /// Another EventRecycler with the recycles, or with the history, of `with`.
    pub(super) fn elsewhere(mut self, with: &Self) -> Self {
        self.facts.others.push(("other".into(), Arc::clone(&with.facts.status)));
        self
    }

    pub(super) fn recycled_elsewhere(self, group: &str, id: &str) -> Self {
        let mut other = Self::new(&json!({}));
        let recycle = Recycle { id: id.to_owned(), ..recycle(group, "Replacing") };
        Arc::make_mut(&mut other.facts.status).recycles = Some(vec![recycle]);
        self.elsewhere(&other)
    }

    /// A recycle in progress whose group cannot be described.
    pub(super) fn active(mut self, group: &str) -> Self {
        let recycle = recycle(group, "Replacing");
        let status = Arc::make_mut(&mut self.facts.status);
        status.recycles.get_or_insert_default().push(recycle.clone());
        status.active_recycles.get_or_insert_default().push(group.to_owned());
        self.facts.recycles.push(recycling::Snapshot {
            recycle,
            owner: "er".into(),
            settings: recycling::Settings::default(),
            group: Observed::Unknown(unanswered()),
            nodes: BTreeMap::new(),
            drains: BTreeMap::new(),
            own_node: None,
            cancelled: false,
        });
        self
    }

    pub(super) fn described(mut self, region: &str, group: &str, state: GroupState) -> Self {
        let view = GroupView { group: state, nodes: BTreeMap::new() };
        self.facts.groups.insert(GroupRef::new(region, group), view);
        self
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { meta: self.meta.clone(), facts: Ok(Box::new(self.facts.clone())) }
    }
}

pub(super) fn recycle(group: &str, step: &str) -> Recycle {
    let value = json!({
        "id": format!("{group}-1"), "group": group, "region": REGION, "strategy": "Replace", "step": step,
        "original": {"min": 1, "max": 4, "desired": 3}, "events": 7,
        "started": "2026-11-16T01:50:00Z", "stepSince": "2026-11-16T01:55:00Z",
    });
    serde_json::from_value(value).unwrap()
}

pub(super) fn news(group: &str, pod: &str, times: u32, minutes: i64) -> Located {
    let involved = Involved::Pod { namespace: "ns".into(), name: pod.into(), uid: None };
    let minute = minute_of(ago(minutes));
    Located {
        occurrence: Occurrence { minute, times, involved, host: None },
        node: Some(format!("node-of-{pod}").into()),
        target: Target::Group(GroupRef::new(REGION, group)),
    }
}

pub(super) fn group(members: usize) -> Group {
    let member = |number| Member {
        id: format!("i-{number}").as_str().into(),
        lifecycle: Lifecycle::InService,
        healthy: true,
        protected_from_scale_in: false,
        weight: 1,
    };
    Group {
        name: GroupName::from("a"),
        sizes: Sizes { min: 1, max: 4, desired: 2 },
        members: (0..members).map(member).collect(),
        suspended: BTreeSet::new(),
        warm_pool: None,
        hooks: Vec::new(),
        mark: None,
        managed_by_eks: false,
        refresh: None,
        deleting: false,
    }
}
