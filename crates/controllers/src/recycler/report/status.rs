//! The status of an EventRecycler, as a merge patch against the stored one.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::event_recycler::status::Unmapped;
use machinist_api::names::{CONDITION_READY, CONDITION_RECYCLING, SEVERITY_ERROR, SEVERITY_INFO};
use machinist_api::parts;
use machinist_api::wire;
use machinist_domain::conditions::{self, Condition, whole_seconds};
use machinist_domain::patch::difference;
use serde_json::{Map, Value, json};

use crate::recycler::error::Refusal;
use crate::recycler::history;
use crate::recycler::naming::Names;
use crate::recycler::plan::{Blocked, Candidate, Counted};
use crate::recycler::recycling::group_of;
use crate::recycler::snapshot::Facts;

/// Fields that change with every Event. Where nothing else has changed, they are stored after a pause.
const FREQUENT: [&str; 3] = ["counting", "eventCounts", "unmapped"];

/// The field that follows from the conditions, so it is never stored alone. A CRD without it cannot cause endless
/// writes.
const REFUSED: &str = "refused";

const REASON_INVALID: &str = "InvalidConfiguration";

/// The condition `Recycling`.
pub(super) enum Recycling {
    /// True, with a message.
    Yes(String),
    /// False, with a reason and a message.
    No(&'static str, String),
}

/// A new status.
pub(super) struct Draft<'a> {
    facts: &'a Facts,
    status: EventRecyclerStatus,
    now: Timestamp,
}

impl<'a> Draft<'a> {
    pub(super) fn of(facts: &'a Facts, now: Timestamp) -> Self {
        let mut status = (*facts.status).clone();
        status.observed_generation = Some(facts.generation);
        Self { facts, status, now }
    }

    /// The recycles in progress; those that are over become history.
    pub(super) fn recycles(&mut self, told: &[Recycle], begun: Option<&Recycle>, called: &Names) {
        let (over, active): (Vec<_>, Vec<_>) =
            told.iter().chain(begun).partition(|recycle| recycle.step.is_over());
        let names = active.iter().map(|recycle| called.of(&group_of(recycle))).collect();
        self.status.active_recycles = or_nothing(names, self.status.active_recycles.as_ref());
        let active = active.into_iter().cloned().collect();
        self.status.recycles = or_nothing(active, self.status.recycles.as_ref());
        for recycle in over {
            self.remember(history::entry(recycle, self.now));
        }
    }

    /// Recycles that `dryRun` prevents become history.
    pub(super) fn pretended(&mut self, candidates: &[Candidate]) {
        for candidate in candidates {
            self.remember(history::pretended(candidate, self.now));
        }
    }

    /// The candidates that cannot be recycled, with the reason.
    pub(super) fn blocked(&mut self, blocked: &[Blocked]) {
        let refused = blocked.iter().map(|one| (one.group.to_string(), one.by.reason().to_owned()));
        self.status.refused =
            Some(refused.collect()).filter(|all: &BTreeMap<_, _>| !all.is_empty());
    }

    /// What was counted. The counts of a group are dropped when its recycle begins and when it ends.
    pub(super) fn counted<'r>(
        &mut self,
        counted: &Counted,
        recycles: impl Iterator<Item = &'r Recycle>,
        called: &Names,
    ) {
        let (mut counting, mut counts) = (counted.counting.clone(), counted.counts.clone());
        let stored = self.facts.recycles.iter().map(|one| group_of(&one.recycle));
        let stored: Vec<_> = stored.collect();
        for recycle in recycles {
            let group = group_of(recycle);
            if !stored.contains(&group) || recycle.step.is_over() {
                counting.forget(&group);
                counts.remove(&group);
            }
        }
        let unmapped = counting.unmapped();
        self.status.counting = Some(counting.write());
        let counts = counts
            .iter()
            .map(|(group, count)| (called.of(group), i64::try_from(*count).unwrap_or(i64::MAX)));
        let counts: BTreeMap<_, _> = counts.collect();
        let was_stored = self.status.event_counts.is_some();
        self.status.event_counts = Some(counts).filter(|counts| was_stored || !counts.is_empty());
        self.status.unmapped = (unmapped > 0).then(|| Unmapped {
            count: i64::try_from(unmapped).unwrap_or(i64::MAX),
            example: counted.example.clone(),
        });
    }

    /// The conditions `Ready` and `Recycling`.
    pub(super) fn conditions(&mut self, refusal: Option<&Refusal>, recycling: &Recycling) {
        let ready = match refusal {
            None => Condition::yes(CONDITION_READY),
            Some(refusal) => {
                let why = refusal.to_string();
                Condition::no(CONDITION_READY, SEVERITY_ERROR, REASON_INVALID, why)
            }
        };
        let recycling = match recycling {
            Recycling::Yes(groups) => {
                Condition::yes(CONDITION_RECYCLING).because("InProgress", groups.as_str())
            }
            Recycling::No(word, why) => {
                Condition::no(CONDITION_RECYCLING, SEVERITY_INFO, word, why.as_str())
            }
        };
        let current: Vec<_> = self.status.conditions.iter().flatten().map(read).collect();
        if let Some(list) = conditions::set(&current, [ready, recycling], self.now) {
            self.status.conditions = serde_json::from_value(conditions::to_json(&list)).ok();
        }
    }

    /// The changes, and the pause after which changes that are not stored yet are.
    pub(super) fn patch(mut self) -> (Option<Value>, Option<Duration>) {
        let stored = fields(&self.facts.status);
        let Some(Value::Object(changed)) = difference(&stored, &fields(&self.status)) else {
            return (None, None);
        };
        if changed.keys().all(|name| name == REFUSED) {
            return (None, None);
        }
        let frequent = changed.keys().all(|name| FREQUENT.contains(&name.as_str()));
        if let Some(wait) = self.recently_stored().filter(|_| frequent) {
            return (None, Some(wait));
        }
        self.status.last_check_time = Some(whole_seconds(self.now).to_string());
        (difference(&stored, &fields(&self.status)), None)
    }

    /// For how long counts alone are not stored.
    fn recently_stored(&self) -> Option<Duration> {
        let last: Timestamp = self.facts.status.last_check_time.as_deref()?.parse().ok()?;
        let age = Duration::try_from(self.now.duration_since(last)).ok()?;
        self.facts.timings.store_counts.checked_sub(age).filter(|wait| !wait.is_zero())
    }

    fn remember(&mut self, entry: machinist_api::event_recycler::status::PastRecycle) {
        let settings = self.facts.settings.as_ref().ok();
        let cool_down = settings.map_or(SignedDuration::ZERO, |settings| settings.cool_down);
        let history = self.status.recycle_history.get_or_insert_default();
        history.push(entry);
        history::bound(history, cool_down, self.now);
    }
}

fn fields(status: &EventRecyclerStatus) -> Map<String, Value> {
    match json!(status) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A list; `None` where it is empty and was never stored.
fn or_nothing<T>(list: Vec<T>, stored: Option<&Vec<T>>) -> Option<Vec<T>> {
    Some(list).filter(|list| stored.is_some() || !list.is_empty())
}

fn read(condition: &parts::Condition) -> Condition {
    Condition::read(&wire::Condition {
        kind: condition.kind.clone(),
        status: condition.status.clone(),
        severity: condition.severity.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_transition_time: condition.last_transition_time.parse().ok(),
    })
}
