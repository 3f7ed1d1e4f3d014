//! What to tell people about a pass: Events, the set's status, and when to come back.

mod status;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{CONDITION_PAUSED, ERROR_INVALID_CONFIGURATION, REASON_NOT_MACHINE_API};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::report::{EventNote, EventReason, EventType, PassResult, Report};
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use serde_json::{Value, json};

use self::status::{Changes, Trouble};
use super::error::Refusal;
use super::plan::{Outcome, Why, names};
use super::snapshot::{Content, Family, Snapshot};

/// Past this, a time that was waited for is not just now.
const A_MOMENT: SignedDuration = SignedDuration::from_millis(1);

/// Reports.
pub fn report(snapshot: &Snapshot, outcome: &Outcome, now: Timestamp) -> Report {
    let Content::Read(family) = &snapshot.content else { return unreadable(outcome) };
    let teller = Teller { family, obey_migration: snapshot.obey_migration, now };
    let report = told(&teller, outcome);
    let settled = matches!(outcome, Outcome::Left(Why::Settled));
    let complete = settled && status::is_complete(family, now);
    if complete { report } else { hold_back(report, family.hold_counts) }
}

/// Counts that still change are not written at every change: a set of thousands would be written hundreds of times on its way. Nothing is left
/// out in the end, because it is looked at again when the time is over; and whatever is more than a count is said at once. So is that all machines
/// are there: somebody waits for that.
fn hold_back(mut report: Report, hold: Duration) -> Report {
    let only_counts = report.status.as_ref().is_some_and(status::is_only_counts);
    if !only_counts || hold.is_zero() {
        return report;
    }
    report.retry = match report.retry {
        None | Some(Retry::OnChange) => Some(Retry::Again(hold)),
        Some(Retry::Again(wait)) => Some(Retry::Again(wait.min(hold))),
        retry @ Some(Retry::Backoff | Retry::After(_) | Retry::Soon) => retry,
    };
    report.status = None;
    report
}

fn told(teller: &Teller<'_>, outcome: &Outcome) -> Report {
    let quiet = |result| Report::quiet(result);
    match outcome {
        Outcome::Left(Why::Settled) => teller.settled(),
        Outcome::Left(Why::NobodyToDelete { excess }) => teller.nobody_to_delete(*excess),
        Outcome::Left(Why::Deleting) | Outcome::DryRun => quiet(PassResult::Settled),
        Outcome::Left(Why::Elsewhere(authority)) => teller.elsewhere(*authority),
        Outcome::Left(Why::NotAssigned(to)) => {
            // Where nobody says which one it is to be, it is this one, as with Machines.
            let to = to.as_str().or(MachineAuthority::MachineApi.as_str());
            let status = to.map(|to| json!({"authoritativeAPI": to}));
            Report { status, ..quiet(PassResult::Waiting) }
        }
        Outcome::Void => Report { retry: Some(Retry::Soon), ..quiet(PassResult::Waiting) },
        Outcome::Refused(refusal) => teller.refused(refusal),
        Outcome::Claimed { adopted, released, failure } => {
            teller.claimed(adopted, released, failure.as_ref())
        }
        // The set has changed by that, so it is looked at again at once.
        Outcome::Moved(Ok(())) => quiet(PassResult::Changed),
        Outcome::Looked(Ok(())) => {
            Report { retry: Some(Retry::Again(Duration::ZERO)), ..quiet(PassResult::Waiting) }
        }
        Outcome::Moved(Err(failure)) | Outcome::Looked(Err(failure)) => {
            teller.failed(EventReason::ReconcileError, Changes::default(), failure)
        }
        Outcome::Created { made, met, failure } => teller.created(made, *met, failure.as_ref()),
        Outcome::Deleted { gone, failure } => teller.deleted(gone, failure.as_ref()),
    }
}

/// A set that cannot be decoded has no status that could be compared, so only an Event tells.
fn unreadable(outcome: &Outcome) -> Report {
    match outcome {
        Outcome::Refused(refusal) => Report {
            events: vec![warning(EventReason::ReconcileError, refusal.to_string())],
            retry: Some(refusal.retry()),
            ..Report::quiet(PassResult::Refused)
        },
        _ => Report::quiet(PassResult::Settled),
    }
}

struct Teller<'a> {
    family: &'a Family,
    obey_migration: bool,
    now: Timestamp,
}

impl Teller<'_> {
    fn status(&self, changes: Changes<'_>, trouble: Trouble<'_>) -> Option<Value> {
        status::patch(self.family, changes, trouble, self.obey_migration, self.now)
    }

    fn settled(&self) -> Report {
        Report {
            status: self.status(Changes::default(), self.remaining()),
            retry: self.again(),
            ..Report::quiet(PassResult::Settled)
        }
    }

    /// What is wrong after a pass in which nothing went wrong.
    fn remaining(&self) -> Trouble<'_> {
        let reason = EventReason::ReconcileError.as_str();
        let refusal = self.family.refusal.as_deref();
        refusal.map_or(Trouble::None, |message| Trouble::Beside { reason, message })
    }

    fn refused(&self, refusal: &Refusal) -> Report {
        let message = refusal.to_string();
        let trouble = Trouble::ForGood { reason: ERROR_INVALID_CONFIGURATION, message: &message };
        Report {
            result: PassResult::Refused,
            status: self.status(Changes::default(), trouble),
            events: vec![warning(EventReason::ReconcileError, message.clone())],
            retry: Some(refusal.retry()),
        }
    }

    fn claimed(
        &self,
        adopted: &[ObjectKey],
        released: &[ObjectKey],
        failure: Option<&Failure>,
    ) -> Report {
        let mut report = match failure {
            Some(failure) => {
                let report = self.failed(EventReason::ReconcileError, Changes::default(), failure);
                // What is of no use to be tried again is passed over from now on, and the set may want something else.
                let retry = if is_how_it_works(failure.category) {
                    report.retry
                } else {
                    Some(Retry::Soon)
                };
                Report { retry, ..report }
            }
            // The machines have changed by that, which brings us back; they are counted then.
            None => Report::quiet(PassResult::Changed),
        };
        for (reason, keys) in [(EventReason::Adopted, adopted), (EventReason::Released, released)] {
            if !keys.is_empty() {
                let names = names(keys.iter().map(|key| &*key.name));
                report.events.insert(0, note(EventType::Normal, reason, names));
            }
        }
        report
    }

    fn created(&self, made: &[ObjectKey], met: usize, failure: Option<&Failure>) -> Report {
        let changes = Changes { made: made.len(), gone: &[] };
        let mut report = match failure {
            Some(failure) => self.failed(EventReason::FailedCreate, changes, failure),
            None => self.changed(changes),
        };
        if met > 0 && report.retry.is_none() {
            report.retry = Some(Retry::Soon);
        }
        if !made.is_empty() {
            let text = format!("created {}", names(made.iter().map(|key| &*key.name)));
            report.events.insert(0, note(EventType::Normal, EventReason::Scaled, text));
        }
        report
    }

    fn deleted(&self, gone: &[ObjectKey], failure: Option<&Failure>) -> Report {
        let changes = Changes { made: 0, gone };
        let mut report = match failure {
            Some(failure) => self.failed(EventReason::FailedDelete, changes, failure),
            None => self.changed(changes),
        };
        if !gone.is_empty() {
            let text = format!("deleted {}", names(gone.iter().map(|key| &*key.name)));
            report.events.insert(0, note(EventType::Normal, EventReason::Scaled, text));
        }
        report
    }

    fn changed(&self, changes: Changes<'_>) -> Report {
        Report {
            result: PassResult::Changed,
            status: self.status(changes, self.remaining()),
            events: Vec::new(),
            retry: self.again(),
        }
    }

    fn failed(&self, reason: EventReason, changes: Changes<'_>, failure: &Failure) -> Report {
        let result = PassResult::Failed;
        let retry = Some(failure.retry);
        if is_how_it_works(failure.category) {
            let status = self.status(changes, Trouble::AsBefore);
            return Report { result, status, events: Vec::new(), retry };
        }
        let trouble = Trouble::ForNow { reason: reason.as_str(), message: &failure.message };
        let text = format!("{}: {}", failure.category.as_str(), failure.message);
        let events = vec![warning(reason, text)];
        Report { result, status: self.status(changes, trouble), events, retry }
    }

    /// When to come back although nothing changes.
    fn again(&self) -> Option<Retry> {
        self.next_available().into_iter().chain(self.family.claim_again).min().map(Retry::Again)
    }

    /// When the next machine has been ready for long enough: nobody tells us that.
    fn next_available(&self) -> Option<Duration> {
        let min_ready = SignedDuration::try_from(self.family.says.spec.min_ready).ok()?;
        let seen = self.family.members.iter().filter_map(|member| member.seen.as_ref());
        let times = seen.filter_map(|seen| seen.available_at(min_ready));
        let next = times.filter(|at| *at >= self.now).min()?;
        let wait = self.now.duration_until(next).checked_add(A_MOMENT)?;
        wait.try_into().ok()
    }

    fn elsewhere(&self, authority: MachineAuthority) -> Report {
        let text = match authority.as_str() {
            Some(api) => format!("The AuthoritativeAPI is set to {api}"),
            None => "The AuthoritativeAPI has a value that nobody here knows".to_owned(),
        };
        let unknown = authority == MachineAuthority::Unknown;
        let events = if unknown {
            vec![warning(EventReason::ReconcileError, text.clone())]
        } else {
            Vec::new()
        };
        let paused = Condition::yes(CONDITION_PAUSED).because(REASON_NOT_MACHINE_API, text);
        let list = conditions::set(&self.family.says.status.conditions, [paused], self.now);
        let status = list.map(|list| json!({"conditions": conditions::to_json(&list)}));
        Report { status, events, ..Report::quiet(PassResult::Settled) }
    }

    /// Whoever mends one of the machines brings us back.
    fn nobody_to_delete(&self, excess: usize) -> Report {
        let message = format!("{excess} machines too many, and none that can be decoded");
        let reason = EventReason::FailedDelete;
        let trouble = Trouble::ForNow { reason: reason.as_str(), message: &message };
        Report {
            result: PassResult::Refused,
            status: self.status(Changes::default(), trouble),
            events: vec![warning(reason, message.clone())],
            retry: Some(Retry::OnChange),
        }
    }
}

/// Whether a failure is how the protocol works, and nothing that a person could mend on the object.
fn is_how_it_works(category: Category) -> bool {
    match category {
        Category::Conflict | Category::NotLeader | Category::Unavailable | Category::Throttled => {
            true
        }
        Category::InvalidConfiguration
        | Category::NotFound
        | Category::CapacityExhausted
        | Category::Unauthorised
        | Category::Unexpected => false,
    }
}

fn warning(reason: EventReason, text: String) -> EventNote {
    note(EventType::Warning, reason, text)
}

fn note(event_type: EventType, reason: EventReason, note: String) -> EventNote {
    let action = match reason {
        EventReason::Adopted | EventReason::Released => "Claim",
        EventReason::Scaled | EventReason::FailedCreate | EventReason::FailedDelete => "Scale",
        _ => "Reconcile",
    };
    EventNote { event_type, reason, action, note }
}

#[cfg(test)]
mod tests;
