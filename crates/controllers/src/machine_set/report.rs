//! Reports a reconcile: Events, the status of the set, and when to requeue.

mod machines_ready;
mod preserved;
mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{CONDITION_PAUSED, REASON_NOT_MACHINE_API};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::{Failure, Retry};
use serde_json::{Value, json};

use self::status::{CONDITIONS, Changes, Problem};
use super::memory::skips_machine;
use super::messages;
use super::plan::{Executed, Outcome, Plan, Reason};
use super::snapshot::{Snapshot, View};
use crate::kinds::Machine;
use crate::served::Field;

/// Added to the time of availability, because a Machine is available only *after* `minReadySeconds`.
const A_MOMENT: SignedDuration = SignedDuration::from_millis(1);

pub(super) fn report(
    snapshot: &Snapshot,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> Report {
    let Ok(view) = &snapshot.content else { return undecodable(plan) };
    let (obey_migration, conditions) = (snapshot.obey_migration, snapshot.conditions_field);
    let builder = ReportBuilder { view, obey_migration, conditions, now };
    let mut report = builder.report(plan, outcome);
    let is_settled = matches!(plan, Plan::NoOp(Reason::Settled));
    if is_settled
        && conditions == Field::Dropped
        && let Some(text) = machines_ready::event(view)
    {
        report.events.push(warning(EventReason::MachinesNotReady, &text));
    }
    if let Some(wait) = view.claim_retry {
        report.retry = requeue_within(report.retry, wait);
    }
    // Users wait for a complete set, so that is reported at once.
    let at_rest = matches!(plan, Plan::NoOp(Reason::Settled | Reason::InFlight(_)));
    let complete = at_rest && status::is_complete(view, now);
    if complete { report } else { hold_back_counts(report, view) }
}

/// Delays a status update that changes only counts and `MachinesReady`: otherwise a set of thousands would be updated
/// hundreds of times while it scales. The requeue makes up for it.
fn hold_back_counts(mut report: Report, view: &View) -> Report {
    let status = report.status.as_ref();
    let only_counts = status.is_some_and(|patch| status::is_only_counts(&view.set, patch));
    if !only_counts || view.hold_counts.is_zero() {
        return report;
    }
    report.retry = requeue_within(report.retry, view.hold_counts);
    report.status = None;
    report
}

/// A failure keeps its own delay.
fn requeue_within(retry: Option<Retry>, wait: Duration) -> Option<Retry> {
    match retry {
        None | Some(Retry::OnChange) => Some(Retry::Again(wait)),
        Some(Retry::Again(time)) => Some(Retry::Again(time.min(wait))),
        retry @ Some(Retry::Backoff | Retry::After(_) | Retry::Soon) => retry,
    }
}

/// A set that cannot be decoded has no status to compare with, so it gets an Event only.
fn undecodable(plan: &Plan) -> Report {
    match plan {
        Plan::Refuse(refusal) => Report {
            events: vec![warning(EventReason::ReconcileError, &refusal.to_string())],
            retry: Some(Retry::OnChange),
            ..Report::quiet(ReconcileResult::Refused)
        },
        _ => Report::quiet(ReconcileResult::Settled),
    }
}

/// A step that may fail: the reason and the message of its failure.
#[derive(Clone, Copy)]
struct Step(EventReason, fn(&str) -> String);

/// `act` has named the Machine.
const CLAIM: Step = Step(EventReason::ReconcileError, str::to_owned);
const MOVE_WINDOW: Step = Step(EventReason::ReconcileError, messages::window_failed);
const LIST: Step = Step(EventReason::ReconcileError, messages::list_failed);
const CREATE: Step = Step(EventReason::FailedCreate, messages::create_failed);
const DELETE: Step = Step(EventReason::FailedDelete, messages::delete_failed);

struct ReportBuilder<'a> {
    view: &'a View,
    obey_migration: bool,
    /// Whether the served schema has `status.conditions`.
    conditions: Field,
    now: Timestamp,
}

impl ReportBuilder<'_> {
    fn report(&self, plan: &Plan, outcome: &Outcome) -> Report {
        let waiting =
            |retry| Report { retry: Some(retry), ..Report::quiet(ReconcileResult::Waiting) };
        let executed = match outcome {
            Outcome::Outdated => return waiting(Retry::Soon),
            Outcome::DryRun => return Report::quiet(ReconcileResult::Settled),
            Outcome::Nothing => &Executed::default(),
            Outcome::Executed(executed) => executed,
        };
        let unless_failed = |report, step| match &executed.failure {
            None => report,
            Some(failure) => self.failed(failure, step, Changes::default()),
        };
        match plan {
            Plan::NoOp(reason) => self.no_op(*reason),
            Plan::SetAuthority(_) => match &executed.failure {
                None => Report::quiet(ReconcileResult::Changed),
                Some(failure) => authority_not_set(failure),
            },
            Plan::Refuse(refusal) => {
                let (result, message) = (ReconcileResult::Refused, refusal.to_string());
                let problem = Problem::Invalid(&message);
                self.problem(result, Retry::OnChange, problem, Changes::default())
            }
            Plan::Claim { adopt, .. } => self.claimed(adopt, executed),
            // The set changes with the window, which requeues it.
            Plan::MoveWindow { .. } => {
                unless_failed(Report::quiet(ReconcileResult::Changed), MOVE_WINDOW)
            }
            Plan::List => unless_failed(waiting(Retry::Again(Duration::ZERO)), LIST),
            Plan::Create(_) => {
                let changes = Changes { created: executed.machines.len(), deleted: &[] };
                self.scaled(executed, CREATE, changes, messages::created)
            }
            Plan::Delete(_) => {
                let changes = Changes { created: 0, deleted: &executed.machines };
                self.scaled(executed, DELETE, changes, messages::deleted)
            }
        }
    }

    fn status(&self, changes: Changes<'_>, problem: Problem<'_>) -> Option<Value> {
        let mut patch = status::changed_fields(self.view, changes, problem, self.now);
        if let Some(list) = self.conditions(changes, problem) {
            patch.insert(CONDITIONS.to_owned(), conditions::to_json(&list));
        }
        if patch.is_empty() { None } else { Some(Value::Object(patch)) }
    }

    /// `None` if they stay, or if the served schema has none.
    fn conditions(&self, changes: Changes<'_>, problem: Problem<'_>) -> Option<Vec<Condition>> {
        if self.conditions == Field::Dropped {
            return None;
        }
        let ready = machines_ready::condition(self.view, changes);
        let preserved = preserved::condition(self.view, changes, self.now);
        let set = &self.view.set;
        status::conditions(set, problem, self.obey_migration, (ready, preserved), self.now)
    }

    fn problem(
        &self,
        result: ReconcileResult,
        retry: Retry,
        problem: Problem<'_>,
        changes: Changes<'_>,
    ) -> Report {
        let events = match problem {
            Problem::Invalid(message) => vec![warning(EventReason::ReconcileError, message)],
            Problem::Failure(reason, message) => vec![warning(reason, message)],
            Problem::None | Problem::Unchanged | Problem::Minor(_) => Vec::new(),
        };
        Report { result, status: self.status(changes, problem), events, retry: Some(retry) }
    }

    fn no_op(&self, reason: Reason) -> Report {
        match reason {
            Reason::Settled | Reason::Aborted => {
                let status = self.status_without_failure(Changes::default());
                Report {
                    status,
                    retry: self.next_available(),
                    ..Report::quiet(ReconcileResult::Settled)
                }
            }
            // The release requeues the set.
            Reason::Held => Report {
                status: self.status_without_failure(Changes::default()),
                ..Report::quiet(ReconcileResult::Waiting)
            },
            Reason::InFlight(wait) => {
                let status = self.status_without_failure(Changes::default());
                let retry = requeue_within(self.next_available(), wait);
                Report { status, retry, ..Report::quiet(ReconcileResult::Waiting) }
            }
            // A change of one of the Machines requeues the set.
            Reason::NoneDeletable { excess } => {
                let message = messages::none_deletable(excess);
                let problem = Problem::Failure(EventReason::FailedDelete, &message);
                let result = ReconcileResult::Refused;
                self.problem(result, Retry::OnChange, problem, Changes::default())
            }
            // It ends by a change of a Machine, or in time.
            Reason::Preserved { .. } => {
                let status = self.status_without_failure(Changes::default());
                let wait = preserved::ends_in(self.view, self.now);
                let retry = wait.map_or(self.next_available(), |wait| {
                    requeue_within(self.next_available(), wait)
                });
                Report { status, retry, ..Report::quiet(ReconcileResult::Waiting) }
            }
            Reason::Deleting => Report::quiet(ReconcileResult::Settled),
            Reason::ManagedElsewhere(authority) => self.managed_elsewhere(authority),
        }
    }

    /// The status after a reconcile without a failure of its own. An earlier failure to adopt or release stays visible.
    fn status_without_failure(&self, changes: Changes<'_>) -> Option<Value> {
        let message = self.view.claim_failure.as_deref();
        self.status(changes, message.map_or(Problem::None, Problem::Minor))
    }

    fn claimed(&self, adopt: &[Arc<Machine>], executed: &Executed) -> Report {
        let mut report = match &executed.failure {
            Some(failure) => {
                let report = self.failed(failure, CLAIM, Changes::default());
                // The Machine is skipped for a while, so that the set can be scaled.
                let skipped = skips_machine(failure.category);
                let retry = if skipped { Some(Retry::Soon) } else { report.retry };
                Report { retry, ..report }
            }
            // The change of the Machines requeues the set.
            None => Report::quiet(ReconcileResult::Changed),
        };
        let is_adopted = |key: &&ObjectKey| adopt.iter().any(|machine| machine.meta.key == **key);
        let (adopted, released): (Vec<_>, Vec<_>) = executed.machines.iter().partition(is_adopted);
        if !adopted.is_empty() {
            let text = messages::adopted(&names(adopted));
            report.events.insert(0, EventNote::normal(EventReason::Adopted, "Claim", text));
        }
        if !released.is_empty() {
            let text = messages::released(&names(released));
            report.events.insert(0, EventNote::normal(EventReason::Released, "Claim", text));
        }
        report
    }

    fn scaled(
        &self,
        executed: &Executed,
        step: Step,
        changes: Changes<'_>,
        done: fn(&[&str]) -> String,
    ) -> Report {
        let mut report = match &executed.failure {
            Some(failure) => self.failed(failure, step, changes),
            None => Report {
                result: ReconcileResult::Changed,
                status: self.status_without_failure(changes),
                events: Vec::new(),
                retry: self.next_available(),
            },
        };
        if executed.skipped > 0 && executed.failure.is_none() {
            report.retry = Some(Retry::Soon);
        }
        if !executed.machines.is_empty() {
            let text = done(&names(&executed.machines));
            report.events.insert(0, EventNote::normal(EventReason::Scaled, "Scale", text));
        }
        report
    }

    fn failed(&self, failure: &Failure, step: Step, changes: Changes<'_>) -> Report {
        let Step(reason, message) = step;
        let message = message(&failure.message);
        let problem = if failure.category.needs_attention() {
            Problem::Failure(reason, &message)
        } else {
            Problem::Unchanged
        };
        self.problem(ReconcileResult::Failed, failure.retry, problem, changes)
    }

    /// Requeues when the next Machine becomes available, for which there is no watch event.
    fn next_available(&self) -> Option<Retry> {
        let min_ready = SignedDuration::try_from(self.view.set.spec.min_ready).ok()?;
        let seen = self.view.members.iter().filter_map(|member| member.seen.as_ref());
        let times = seen.filter_map(|seen| seen.available_at(min_ready));
        let next = times.filter(|at| *at >= self.now).min()?;
        let wait = self.now.duration_until(next).checked_add(A_MOMENT)?;
        wait.try_into().ok().map(Retry::Again)
    }

    fn managed_elsewhere(&self, authority: MachineAuthority) -> Report {
        let text = messages::authority(authority);
        let events = match authority {
            MachineAuthority::Unknown => vec![warning(EventReason::ReconcileError, &text)],
            _ => Vec::new(),
        };
        let paused = Condition::yes(CONDITION_PAUSED).because(REASON_NOT_MACHINE_API, text);
        let list = conditions::set(&self.view.set.status.conditions, [paused], self.now);
        let list = list.filter(|_| self.conditions != Field::Dropped);
        let status = list.map(|list| json!({"conditions": conditions::to_json(&list)}));
        Report { status, events, ..Report::quiet(ReconcileResult::Settled) }
    }
}

/// No condition is written before it is known which API manages the set.
fn authority_not_set(failure: &Failure) -> Report {
    let text = messages::status_failed(&failure.message);
    let event = warning(EventReason::ReconcileError, &text);
    // A fix of permissions or webhooks does not change the set.
    let retry = Some(failure.retry.or_backoff());
    Report { retry, ..Report::failed(failure, event) }
}

fn names<'a>(keys: impl IntoIterator<Item = &'a ObjectKey>) -> Vec<&'a str> {
    keys.into_iter().map(|key| &*key.name).collect()
}

fn warning(reason: EventReason, text: &str) -> EventNote {
    EventNote::warning(reason, action(reason), text.to_owned())
}

fn action(reason: EventReason) -> &'static str {
    match reason {
        EventReason::FailedCreate | EventReason::FailedDelete => "Scale",
        _ => "Reconcile",
    }
}

#[cfg(test)]
mod tests;
