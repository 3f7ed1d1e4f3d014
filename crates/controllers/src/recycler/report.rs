//! Reports a reconcile of an EventRecycler: its status, Events, and when to requeue it.
//!
//! Counts and mark are stored together, guarded by the version they were made from. Counts alone are stored every other
//! second at most: what is not stored yet is in memory, and after a crash the Events bring it again.

mod status;

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_api::names::{CONDITION_RECYCLING, SEVERITY_INFO};
use machinist_domain::conditions::Condition;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::{Failure, Retry};
use machinist_provider::node_groups::GroupRef;
use serde_json::Value;

use super::messages;
use super::naming::Names;
use super::plan::{Hold, Outcome, Plan};
use super::recycling::{self, RecycleReport, Refusal, group_of};
use super::snapshot::{Facts, Snapshot};

pub(super) const ACTION: &str = "Recycle";

pub(super) fn report(
    snapshot: &Snapshot,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> Report {
    let Ok(facts) = &snapshot.facts else { return undecodable(plan) };
    match &outcome.written {
        Some(Ok(true)) if plan.finalizer.is_some() => Report {
            retry: Some(Retry::Again(Duration::ZERO)),
            ..Report::quiet(ReconcileResult::Changed)
        },
        // A dry run of the whole process.
        Some(Ok(false)) => Report {
            retry: facts.watch_interval().map(Retry::Again),
            ..Report::quiet(ReconcileResult::Settled)
        },
        Some(Err(failure)) => not_written(plan, failure),
        Some(Ok(true)) => {
            let builder = ReportBuilder::new(facts, plan, &[], now);
            Report { status: None, result: ReconcileResult::Changed, ..builder.build() }
        }
        None => ReportBuilder::new(facts, plan, &outcome.steps, now).build(),
    }
}

pub(super) fn status(facts: &Facts, plan: &Plan, now: Timestamp) -> Option<Value> {
    ReportBuilder::new(facts, plan, &[], now).status().0
}

/// The status of an object that cannot be decoded cannot be compared, so there is only an Event.
fn undecodable(plan: &Plan) -> Report {
    let refusal = plan.refusal.iter();
    let events = refusal.map(|refusal| warning(EventReason::FailedValidate, refusal.to_string()));
    Report {
        events: events.collect(),
        retry: Some(Retry::OnChange),
        ..Report::quiet(ReconcileResult::Refused)
    }
}

fn not_written(plan: &Plan, failure: &Failure) -> Report {
    let text = match plan.finalizer {
        Some(_) => messages::finalizer_not_written(failure),
        None => messages::recycle_not_stored(failure),
    };
    let attention = failure.category.needs_attention();
    Report {
        events: attention.then(|| warning(EventReason::ReconcileError, text)).into_iter().collect(),
        retry: Some(failure.retry),
        ..Report::quiet(ReconcileResult::Failed)
    }
}

struct ReportBuilder<'a> {
    facts: &'a Facts,
    plan: &'a Plan,
    names: Names,
    now: Timestamp,
    recycles: Vec<Recycle>,
    events: Vec<EventNote>,
    trouble: Vec<String>,
    retry: Option<Retry>,
    failed: bool,
}

impl<'a> ReportBuilder<'a> {
    /// Outcomes of steps are missing where the plan is stored first.
    fn new(
        facts: &'a Facts,
        plan: &'a Plan,
        outcomes: &[recycling::Outcome],
        now: Timestamp,
    ) -> Self {
        let recycled: Vec<_> = facts.recycles.iter().map(|one| group_of(&one.recycle)).collect();
        let counted = plan.counted.iter().flat_map(|counted| counted.counts.keys());
        let mut builder = Self {
            facts,
            plan,
            names: Names::among(counted.chain(&recycled)),
            now,
            recycles: Vec::new(),
            events: Vec::new(),
            trouble: Vec::new(),
            retry: None,
            failed: false,
        };
        builder.steps(outcomes);
        for (group, failure) in &plan.unreachable {
            builder.trouble.push(messages::in_group(&builder.names.of(group), &failure.message));
            builder.requeue(failure.retry);
        }
        for (group, refusal) in &plan.blocked {
            builder.blocked(group, refusal);
        }
        builder
    }

    fn build(mut self) -> Report {
        let (status, later) = self.status();
        self.begin();
        for candidate in &self.plan.pretend {
            let name = self.names.of(&candidate.group);
            let text = messages::would_recycle(&name, candidate.events, self.facts);
            self.events.push(EventNote::normal(EventReason::WouldRecycle, ACTION, text));
        }
        if let Some(refusal) = &self.plan.refusal {
            self.events.push(warning(EventReason::FailedValidate, refusal.to_string()));
            self.requeue(Retry::OnChange);
        }
        let incomplete = self.facts.incomplete.then_some(self.facts.timings.incomplete_list);
        let describe = (!self.plan.describe.is_empty()).then_some(Duration::ZERO);
        for pause in [later, incomplete, describe, self.next_evaluation()].into_iter().flatten() {
            self.requeue(Retry::Again(pause));
        }
        let result = match (&status, &self.plan.refusal, self.failed) {
            (_, Some(_), _) => ReconcileResult::Refused,
            (_, _, true) => ReconcileResult::Failed,
            (Some(_), ..) => ReconcileResult::Changed,
            (None, ..) if self.facts.recycles.is_empty() => ReconcileResult::Settled,
            (None, ..) => ReconcileResult::Waiting,
        };
        Report { result, status, events: self.events, retry: self.retry }
    }

    fn requeue(&mut self, retry: Retry) {
        self.retry = Some(match self.retry.take() {
            None => retry,
            Some(other) => sooner(other, retry),
        });
    }

    fn steps(&mut self, outcomes: &[recycling::Outcome]) {
        for (index, (recycle, plan)) in self.facts.recycles.iter().zip(&self.plan.steps).enumerate()
        {
            let outcome = outcomes.get(index).unwrap_or(&recycling::Outcome::Nothing);
            self.failed |= matches!(outcome, recycling::Outcome::Failed(_));
            let RecycleReport { recycle, events, trouble, retry } =
                recycling::report(recycle, plan, outcome, self.now);
            self.events.extend(events);
            let name = self.names.of(&group_of(&recycle));
            self.trouble.extend(trouble.map(|trouble| messages::in_group(&name, &trouble)));
            self.recycles.push(recycle);
            if let Some(retry) = retry {
                self.requeue(retry);
            }
        }
    }

    fn begin(&mut self) {
        let Some(recycle) = &self.plan.begin else { return };
        let name = self.names.of(&group_of(recycle));
        // A group that was left at size zero does not begin with the first step.
        let text = if recycle.step == Step::Planned {
            messages::begins(&name, recycle.events, self.facts)
        } else {
            messages::resumes(&name)
        };
        self.events.push(EventNote::normal(EventReason::RecycleBegins, ACTION, text));
        self.requeue(Retry::Again(Duration::ZERO));
    }

    /// An Event is written once for each reason, however often the group is considered.
    fn blocked(&mut self, group: &GroupRef, refusal: &Refusal) {
        let text = messages::cannot_recycle(&self.names.of(group), refusal);
        let stored = self.facts.status.refused.as_ref();
        let stored = stored.and_then(|all| all.get(&group.to_string()));
        if stored.is_none_or(|old| old != refusal.reason()) {
            self.events.push(warning(EventReason::RecycleRefused, text.clone()));
        }
        self.trouble.push(text);
        self.requeue(match refusal {
            Refusal::Unreachable(failure) => failure.retry,
            _ => Retry::Again(self.facts.watch_interval().unwrap_or_default()),
        });
    }

    /// The condition `Recycling`: whether a recycle is in progress, and if not, why.
    fn recycling(&self) -> Condition {
        let no = |reason, why| Condition::no(CONDITION_RECYCLING, SEVERITY_INFO, reason, why);
        let active = self.recycles.iter().filter(|one| !one.step.is_over());
        let active = active.chain(&self.plan.begin);
        let groups: Vec<_> = active.map(|one| self.names.of(&group_of(one))).collect();
        if !groups.is_empty() {
            let text = messages::in_progress(&groups, &self.trouble);
            return Condition::yes(CONDITION_RECYCLING).because("InProgress", text);
        }
        if !self.trouble.is_empty() {
            return no("Refused", self.trouble.join("; "));
        }
        if let Some(group) = self.pretended() {
            return no("DryRun", messages::dry_run(&group));
        }
        match self.plan.held.first() {
            // Its recycle ends in this reconcile; the condition is true before.
            Some((group, hold @ Hold::Active)) => {
                no("CoolDown", messages::held(&self.names.of(group), hold))
            }
            Some((group, hold)) => no(hold.reason(), messages::held(&self.names.of(group), hold)),
            None => no("Idle", String::new()),
        }
    }

    /// A group that would be recycled without `dryRun`, now or during its cool-down.
    fn pretended(&self) -> Option<String> {
        let now = self.plan.pretend.iter().map(|candidate| &candidate.group);
        let cools = |held: &&(GroupRef, Hold)| matches!(held.1, Hold::CoolDown(_));
        let before = self.plan.held.iter().filter(cools).map(|(group, _)| group);
        let dry_run = self.facts.settings.as_ref().is_ok_and(|settings| settings.dry_run);
        now.chain(before).map(|group| self.names.of(group)).min().filter(|_| dry_run)
    }

    fn next_evaluation(&self) -> Option<Duration> {
        let counted = self.plan.counted.as_ref()?;
        let waits = !counted.counts.is_empty() || !counted.counting.open.is_empty();
        self.facts.watch_interval().filter(|_| waits)
    }
}

/// The sooner of two. A failure does not delay a requeue that is due earlier.
fn sooner(one: Retry, other: Retry) -> Retry {
    match (one, other) {
        (Retry::OnChange, it) | (it, Retry::OnChange) => it,
        (Retry::Soon, _) | (_, Retry::Soon) => Retry::Soon,
        (Retry::Backoff, it) | (it, Retry::Backoff) => it,
        (Retry::After(one), Retry::After(other)) => Retry::After(one.min(other)),
        (Retry::Again(one) | Retry::After(one), Retry::Again(other) | Retry::After(other)) => {
            Retry::Again(one.min(other))
        }
    }
}

fn warning(reason: EventReason, text: String) -> EventNote {
    EventNote::warning(reason, ACTION, text)
}

#[cfg(test)]
mod tests;
