//! Reports a reconcile: the status of the health check, Events about it and its Machines, and when to requeue.

mod status;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::resource::MACHINES;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::Retry;

use self::status::Status;
use super::health::Health;
use super::messages;
use super::plan::{Assessment, Fate, Finding, Hold, NoBudget, Outcome, Plan, Reason, Step};
use super::snapshot::{NoLimit, Snapshot, View};

/// Events about Machines in one reconcile: with thousands of unhealthy Machines the condition and the counts suffice.
const MOST_EVENTS: usize = 20;
const ACTION: &str = "Remediate";
/// Added to a time, because a timeout must be over.
const A_MOMENT: SignedDuration = SignedDuration::from_millis(1);

pub(super) fn report(
    snapshot: &Snapshot,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> Report {
    match (plan, &snapshot.content) {
        (Plan::NoOp(Reason::Undecodable(error)), _) => Report {
            events: vec![warning(EventReason::ReconcileError, messages::undecodable(error))],
            retry: Some(Retry::OnChange),
            ..Report::quiet(ReconcileResult::Refused)
        },
        (Plan::NoOp(Reason::Paused), Ok(view)) => Report {
            status: Status::paused(&view.check, now),
            ..Report::quiet(ReconcileResult::Settled)
        },
        (Plan::Refuse(refusal), Ok(view)) => {
            let text = refusal.to_string();
            Report {
                status: Status::refused(&view.check, view.members.len(), &text, now),
                events: vec![warning(EventReason::InvalidConfiguration, text)],
                retry: Some(Retry::OnChange),
                ..Report::quiet(ReconcileResult::Refused)
            }
        }
        (Plan::Assess(assessment), Ok(view)) => assessed(view, assessment, outcome, now),
        _ => Report::quiet(ReconcileResult::Settled),
    }
}

fn assessed(view: &View, assessment: &Assessment, outcome: &Outcome, now: Timestamp) -> Report {
    let status = Status::assessed(&view.check, assessment, now);
    let mut events = overlaps(view);
    if !assessment.is_allowed() {
        let max = Status::max_unhealthy(&view.check);
        let text = messages::restricted(assessment, &max);
        events.push(warning(EventReason::RemediationRestricted, text));
    }
    events.extend(assessment.findings.iter().filter_map(found).take(MOST_EVENTS));
    let fates = match outcome {
        Outcome::Nothing | Outcome::DryRun => &[],
        Outcome::Executed(fates) => fates.as_slice(),
    };
    let mut again = next(assessment, view.now, now).map(Retry::Again);
    let mut result = match outcome {
        Outcome::Nothing if assessment.findings.is_empty() => ReconcileResult::Settled,
        Outcome::Nothing => ReconcileResult::Waiting,
        Outcome::DryRun | Outcome::Executed(_) => ReconcileResult::Changed,
    };
    for (meta, fate) in fates {
        let found = assessment.findings.iter().find(|one| one.meta.uid == meta.uid);
        let Some(finding) = found else { continue };
        match fate {
            Fate::Deleted => events.extend(deleted(finding)),
            Fate::Outdated => again = Some(Retry::Soon),
            Fate::Failed(failure) => {
                if failure.category.needs_attention() {
                    let (name, cause) = (&finding.meta.key.name, cause(finding));
                    let text = messages::deletion_failed(name, &cause, failure);
                    let event = warning(EventReason::MachineDeletionFailed, text);
                    events.push(event.clone().about(MACHINES, &finding.meta));
                    events.push(event);
                }
                result = ReconcileResult::Failed;
            }
        }
    }
    let failed = fates.iter().find_map(|(_, fate)| match fate {
        Fate::Failed(failure) => Some(failure.retry.or_backoff()),
        Fate::Deleted | Fate::Outdated => None,
    });
    Report { result, status, events, retry: failed.or(again) }
}

fn cause(finding: &Finding) -> String {
    match &finding.health {
        Health::Unhealthy(cause, _) | Health::Suspect(cause, _) => messages::cause(cause),
        _ => String::new(),
    }
}

/// An Event about the Machine, if it is unhealthy or becomes it.
fn found(finding: &Finding) -> Option<EventNote> {
    let reason = match (&finding.health, &finding.step) {
        (_, Step::Held(Hold::NoController)) => EventReason::SkippedNoController,
        // The first: the Event of the health check says so.
        (_, Step::Held(Hold::TooManyUnhealthy)) | (Health::Suspect(..), _) => {
            EventReason::DetectedUnhealthy
        }
        // A moment after the start.
        (_, Step::Held(Hold::NoBudget(_, NoBudget::Unknown(NoLimit::NotRead)))) => return None,
        (_, Step::Held(_)) => EventReason::RemediationHeld,
        _ => return None,
    };
    let text = messages::finding(finding)?;
    Some(EventNote::normal(reason, ACTION, text).about(MACHINES, &finding.meta))
}

fn deleted(finding: &Finding) -> Vec<EventNote> {
    let Health::Unhealthy(cause, _) = &finding.health else { return Vec::new() };
    let text = messages::deleted(&finding.meta.key.name, cause);
    let event = EventNote::normal(EventReason::MachineDeleted, ACTION, text);
    vec![event.clone().about(MACHINES, &finding.meta), event]
}

fn overlaps(view: &View) -> Vec<EventNote> {
    if view.overlaps.is_empty() {
        return Vec::new();
    }
    let others: Vec<_> = view.overlaps.keys().map(|name| &**name).collect();
    let text = messages::overlap(&others.join(", "));
    vec![EventNote::normal(EventReason::HealthChecksOverlap, ACTION, text)]
}

fn warning(reason: EventReason, text: String) -> EventNote {
    EventNote::warning(reason, ACTION, text)
}

/// When the next timeout, preservation or replacement ends.
fn next(assessment: &Assessment, observed: Timestamp, now: Timestamp) -> Option<Duration> {
    let times = assessment.findings.iter().filter_map(|one| match &one.step {
        Step::Wait(at) | Step::Held(Hold::Preserved(at) | Hold::Budget { until: at, .. }) => *at,
        Step::Held(_) | Step::Remediate => None,
    });
    // One may have ended since it was observed.
    let next = times.filter(|at| *at > observed).min()?;
    let wait = now.duration_until(next).max(SignedDuration::ZERO).checked_add(A_MOMENT)?;
    wait.try_into().ok()
}

#[cfg(test)]
mod tests;
