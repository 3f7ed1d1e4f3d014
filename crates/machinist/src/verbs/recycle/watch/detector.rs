//! Counts Events as the controller does, with a spec from flags and a status in memory.

use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use machinist_api::event_recycler::spec::CountBy;
use machinist_api::event_recycler::status::PastRecycle;
use machinist_api::event_recycler::{EventRecyclerSpec, EventRecyclerStatus};
use machinist_controllers::kinds::{EventRecycler, Events, Pods};
use machinist_controllers::recycler::Plan;
use machinist_controllers::recycler::detection::{
    Counting, Detection, EventTracker, GroupMembership, Locator,
};
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::meta::Meta;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::Scope;
use serde_json::json;
use tokio::sync::Notify;

use super::super::arguments::{CountByName, WatchArguments};
use super::super::run::{RecycleContext, synced};
use crate::exit::Usage;

const GENERATION: i64 = 1;

#[derive(Debug)]
pub(super) struct Detector {
    recycler: EventRecycler,
    detection: Detection,
    /// Notified after groups of instances are looked up.
    pub(super) news: Arc<Notify>,
}

impl Detector {
    pub(super) async fn new(
        context: &RecycleContext,
        region: Option<&str>,
        arguments: &WatchArguments,
    ) -> anyhow::Result<Self> {
        let scope = arguments.namespace.clone().map_or(Scope::All, Scope::Namespace);
        let events = context.caches.open(&context.cluster, scope.clone(), Events);
        let pods = context.caches.open(&context.cluster, scope, Pods);
        synced(&events).await?;
        synced(&pods).await?;
        let news = Arc::new(Notify::new());
        let ring = Arc::clone(&news);
        let machines = MachineTimings::default();
        let group_membership = GroupMembership::new(
            Arc::clone(&context.groups),
            context.tasks.clone(),
            context.clock.clone(),
            context.timings,
            machines,
            move || ring.notify_one(),
        );
        let tracker = Arc::new(EventTracker::new(context.clock.clone(), machines.gather));
        let locator = Locator {
            pods,
            nodes: Arc::clone(&context.nodes),
            cloud: Arc::clone(&context.groups),
            group_membership,
            region: Some(context.region.as_str().into()),
        };
        let detection = Detection { events, tracker, locator };
        detection.attend();
        // Earlier Events do not count.
        let mark = detection.events.survey(|position, _| position);
        let recycler = recycler(spec(region, arguments)?, mark);
        detection.track(&recycler);
        let plan = detection.decide(&recycler, context.clock.now());
        if let Some(refusal) = plan.and_then(|plan| plan.refusal) {
            return Err(anyhow::Error::from(refusal).context(Usage));
        }
        Ok(Self { recycler, detection, news })
    }

    pub(super) fn look(&mut self, now: Timestamp) -> Plan {
        let plan = self.detection.decide(&self.recycler, now).unwrap_or_default();
        if let Some(counted) = &plan.counted {
            self.store(|status| status.counting = Some(counted.counting.write()));
        }
        plan
    }

    /// Notes the recycle of a group and drops its counts.
    pub(super) fn settle(&mut self, group: &GroupRef, status: &str, now: Timestamp) {
        let mut counting = Counting::of(&self.recycler);
        counting.groups.remove(group);
        let entry = PastRecycle {
            node_group: Some(group.name.to_string()),
            region: Some(group.region.to_string()),
            timestamp: Some(now.to_string()),
            status: Some(status.to_owned()),
            ..PastRecycle::default()
        };
        self.store(|status| {
            status.counting = Some(counting.write());
            status.recycle_history.get_or_insert_default().push(entry);
        });
    }

    /// Changes the status. Counted occurrences are dropped.
    fn store(&mut self, change: impl FnOnce(&mut EventRecyclerStatus)) {
        change(Arc::make_mut(&mut self.recycler.status));
        self.detection.track(&self.recycler);
    }
}

fn recycler(spec: EventRecyclerSpec, mark: Version) -> EventRecycler {
    let counting = Counting { mark, ..Counting::default() };
    EventRecycler {
        meta: Meta {
            key: ObjectKey::new("", "watch"),
            uid: Uid("watch".into()),
            version: Version::default(),
            deleting: false,
        },
        generation: GENERATION,
        finalizers: Box::default(),
        freeze: None,
        spec: Some(Arc::new(spec)),
        status: Arc::new(EventRecyclerStatus {
            observed_generation: Some(GENERATION),
            counting: Some(counting.write()),
            ..EventRecyclerStatus::default()
        }),
    }
}

impl From<CountByName> for CountBy {
    fn from(name: CountByName) -> Self {
        match name {
            CountByName::Events => Self::Events,
            CountByName::Pods => Self::Pods,
            CountByName::Nodes => Self::Nodes,
        }
    }
}

fn spec(region: Option<&str>, arguments: &WatchArguments) -> anyhow::Result<EventRecyclerSpec> {
    let time = |time: std::time::Duration| format!("{}ms", time.as_millis());
    let reporters = Some(&arguments.reporter).filter(|reporters| !reporters.is_empty());
    let spec = json!({
        "searchTerms": arguments.search,
        "match": {"reporters": reporters},
        "threshold": arguments.threshold,
        "countBy": CountBy::from(arguments.count_by),
        "maxPerObject": arguments.max_per_object,
        "trustEventHost": arguments.trust_event_host,
        "window": time(arguments.window),
        "watchInterval": time(arguments.watch_interval),
        "coolDown": time(arguments.cool_down),
        "dryRun": arguments.dry_run,
        "awsRegion": region,
    });
    serde_json::from_value(spec).context("flags").context(Usage)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::super::arguments::{Line, RecycleCommand};
    use super::*;

    fn read(flags: &str) -> EventRecyclerSpec {
        let words = ["recycle", "watch"].into_iter().chain(flags.split_whitespace());
        let command = Line::try_parse_from(words).unwrap().recycle.command;
        let RecycleCommand::Watch(watch) = command else { panic!("no watch") };
        spec(None, &watch).unwrap()
    }

    fn reporters(spec: EventRecyclerSpec) -> Option<Vec<String>> {
        spec.matching.unwrap().reporters
    }

    #[test]
    fn nodes_count_and_hosts_are_not_trusted_unless_flags_say_so() {
        let usual = read("");
        assert_eq!((usual.count_by, usual.max_per_object), (Some(CountBy::Nodes), Some(10)));
        assert_eq!((usual.trust_event_host, reporters(usual)), (Some(false), None));
        let flags =
            "--count-by=events --max-per-object=3 --trust-event-host --reporter=a --reporter=b";
        let flagged = read(flags);
        assert_eq!((flagged.count_by, flagged.max_per_object), (Some(CountBy::Events), Some(3)));
        let both = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!((flagged.trust_event_host, reporters(flagged)), (Some(true), Some(both)));
    }
}
