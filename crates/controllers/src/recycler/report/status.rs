//! The status of an EventRecycler, as a merge patch against the stored one.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::event_recycler::status::Unmapped;
use machinist_api::names::{CONDITION_READY, SEVERITY_ERROR};
use machinist_domain::conditions::{self, Condition, whole_seconds};
use machinist_domain::patch::difference;
use serde_json::{Map, Value, json};

use super::ReportBuilder;
use crate::recycler::history;
use crate::recycler::plan::Counted;
use crate::recycler::recycling::group_of;

/// Fields that change with every Event. Where nothing else has changed, they are stored after a pause.
const FREQUENT: [&str; 3] = ["counting", "eventCounts", "unmapped"];

/// Follows from the conditions, so it is never stored alone: a CRD without it cannot cause endless writes.
const REFUSED: &str = "refused";

const REASON_INVALID: &str = "InvalidConfiguration";

impl ReportBuilder<'_> {
    /// The patch of the status, and the pause after which changes that are not stored yet are.
    pub(super) fn status(&self) -> (Option<Value>, Option<Duration>) {
        let (stored, mut status) = (fields(&self.facts.status), self.new_status());
        let Some(Value::Object(changed)) = difference(&stored, &fields(&status)) else {
            return (None, None);
        };
        if changed.keys().all(|name| name == REFUSED) {
            return (None, None);
        }
        let frequent = changed.keys().all(|name| FREQUENT.contains(&name.as_str()));
        if let Some(wait) = self.recently_stored().filter(|_| frequent) {
            return (None, Some(wait));
        }
        status.last_check_time = Some(whole_seconds(self.now).to_string());
        (difference(&stored, &fields(&status)), None)
    }

    fn recently_stored(&self) -> Option<Duration> {
        let last: Timestamp = self.facts.status.last_check_time.as_deref()?.parse().ok()?;
        let age = Duration::try_from(self.now.duration_since(last)).ok()?;
        self.facts.timings.store_counts.checked_sub(age).filter(|wait| !wait.is_zero())
    }

    fn new_status(&self) -> EventRecyclerStatus {
        let (facts, plan, now) = (self.facts, self.plan, self.now);
        let mut status = (*facts.status).clone();
        status.observed_generation = Some(facts.generation);
        let recycles: Vec<_> = self.recycles.iter().chain(&plan.begin).collect();
        let (over, active): (Vec<&Recycle>, Vec<_>) =
            recycles.iter().copied().partition(|recycle| recycle.step.is_over());
        let names = active.iter().map(|recycle| self.names.of(&group_of(recycle))).collect();
        status.active_recycles = or_nothing(names, status.active_recycles.as_ref());
        let active = active.into_iter().cloned().collect();
        status.recycles = or_nothing(active, status.recycles.as_ref());
        let over = over.into_iter().map(|recycle| history::entry(recycle, now));
        let pretended = plan.pretend.iter().map(|candidate| history::pretended(candidate, now));
        let past: Vec<_> = over.chain(pretended).collect();
        if !past.is_empty() {
            let settings = facts.settings.as_ref().ok();
            let cool_down = settings.map_or(SignedDuration::ZERO, |settings| settings.cool_down);
            let history = status.recycle_history.get_or_insert_default();
            history.extend(past);
            history::bound(history, cool_down, now);
        }
        if let Some(counted) = &plan.counted {
            self.count(&mut status, counted, &recycles);
        }
        let refused = plan.blocked.iter();
        let refused = refused.map(|(group, by)| (group.to_string(), by.reason().to_owned()));
        status.refused = Some(refused.collect()).filter(|all: &BTreeMap<_, _>| !all.is_empty());
        let ready = match &plan.refusal {
            None => Condition::yes(CONDITION_READY),
            Some(refusal) => {
                Condition::no(CONDITION_READY, SEVERITY_ERROR, REASON_INVALID, refusal.to_string())
            }
        };
        let current = self.facts.conditions();
        if let Some(list) = conditions::set(&current, [ready, self.recycling()], now) {
            status.conditions = serde_json::from_value(conditions::to_json(&list)).ok();
        }
        status
    }

    /// Sets what was counted. The counts of a group are dropped when its recycle begins and when it ends.
    fn count(&self, status: &mut EventRecyclerStatus, counted: &Counted, recycles: &[&Recycle]) {
        let (mut counting, mut counts) = (counted.counting.clone(), counted.counts.clone());
        let stored: Vec<_> = self.facts.recycles.iter().map(|one| group_of(&one.recycle)).collect();
        for recycle in recycles {
            let group = group_of(recycle);
            if !stored.contains(&group) || recycle.step.is_over() {
                counting.groups.remove(&group);
                counts.remove(&group);
            }
        }
        let counts: BTreeMap<_, _> = counts
            .iter()
            .map(|(group, count)| (self.names.of(group), i64::try_from(*count).unwrap_or(i64::MAX)))
            .collect();
        let was_stored = status.event_counts.is_some();
        status.event_counts = Some(counts).filter(|counts| was_stored || !counts.is_empty());
        let unmapped = counting.unmapped();
        status.unmapped = (unmapped > 0).then(|| Unmapped {
            count: i64::try_from(unmapped).unwrap_or(i64::MAX),
            example: counted.example.clone(),
        });
        status.counting = Some(counting.write());
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
