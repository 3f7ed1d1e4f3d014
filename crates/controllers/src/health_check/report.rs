//! Reports a reconcile: the status of the health check, Events about it and its Machines, and when to requeue.

mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::resource::{MACHINE_SETS, MACHINES};
use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::meta::Meta;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::{Failure, Retry};

use self::status::Status;
use super::health::Health;
use super::messages;
use super::plan::{Assessment, Ended, Fate, Finding, Hold, NoBudget, Outcome, Plan, Reason, Step};
use super::snapshot::{NoLimit, Snapshot, Unavailable, View};

/// Events about Machines in one reconcile: with thousands of unhealthy Machines the condition and the counts suffice.
const MOST_EVENTS: usize = 20;
/// Within this time, what could not be read is read again anyway.
const REREAD: Duration = Duration::from_secs(60);
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
    if let Outcome::Recorded(written) = outcome {
        return recorded(written.as_ref().err());
    }
    let fates = match outcome {
        Outcome::Nothing | Outcome::DryRun | Outcome::Recorded(_) => &[],
        Outcome::Executed(fates) => fates.as_slice(),
    };
    let status = Status::assessed(view, assessment, fates, now);
    let mut events = overlaps(view);
    events.extend(unavailable(view));
    if !assessment.is_allowed() {
        let max = Status::max_unhealthy(&view.check);
        let text = messages::restricted(assessment, &max);
        events.push(warning(EventReason::RemediationRestricted, text));
    }
    events.extend(assessment.findings.iter().filter_map(found).take(MOST_EVENTS));
    events.extend(retry_limits(view, assessment));
    let mut again = next(assessment, view.now, now).map(Retry::Again);
    let mut result = match outcome {
        Outcome::Nothing if assessment.findings.is_empty() => ReconcileResult::Settled,
        Outcome::Nothing => ReconcileResult::Waiting,
        Outcome::DryRun | Outcome::Recorded(_) | Outcome::Executed(_) => ReconcileResult::Changed,
    };
    for (meta, fate) in fates {
        let mut ended = assessment.ended.iter();
        if let Some(ended) = ended.find(|one| one.machine.uid == meta.uid) {
            let (more, failed) = ends(ended, fate);
            events.extend(more);
            result = if failed { ReconcileResult::Failed } else { result };
            continue;
        }
        let found = assessment.findings.iter().find(|one| one.meta.uid == meta.uid);
        let Some(finding) = found else { continue };
        match fate {
            Fate::Deleted => events.extend(deleted(finding)),
            Fate::Requested | Fate::Annotated => events.extend(requested(view, finding)),
            Fate::Ended => {}
            Fate::Outdated => again = Some(Retry::Soon),
            Fate::Failed(failure) => {
                if failure.category.needs_attention() {
                    let event = failed_remediation(view, finding, failure);
                    events.push(event.clone().about(MACHINES, &finding.meta));
                    events.push(event);
                }
                result = ReconcileResult::Failed;
            }
        }
    }
    let failed = fates.iter().find_map(|(_, fate)| match fate {
        Fate::Failed(failure) => Some(failure.retry.or_backoff()),
        Fate::Deleted | Fate::Requested | Fate::Annotated | Fate::Ended | Fate::Outdated => None,
    });
    let failed = failed.or_else(|| {
        // A timer that ends sooner reads it again, too.
        let soon = matches!(again, Some(Retry::Again(time)) if time <= REREAD);
        (!soon && is_unreadable(view, assessment)).then_some(Retry::Backoff)
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
        (_, Step::Held(Hold::RetryLimit { .. })) => return None,
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

/// The kind of the remediation objects.
fn external_kind(view: &View) -> &str {
    view.external.as_ref().map_or("", |external| &external.kind)
}

/// Another controller remediates it now.
fn requested(view: &View, finding: &Finding) -> Vec<EventNote> {
    let (name, cause) = (&finding.meta.key.name, cause(finding));
    let (reason, text) = if finding.step == Step::Annotate {
        (EventReason::ExternalAnnotationAdded, messages::annotated(name, &cause))
    } else {
        let text = messages::requested(external_kind(view), name, &cause);
        (EventReason::RemediationRequested, text)
    };
    let event = EventNote::normal(reason, ACTION, text);
    vec![event.clone().about(MACHINES, &finding.meta), event]
}

fn failed_remediation(view: &View, finding: &Finding, failure: &Failure) -> EventNote {
    let (name, cause) = (&finding.meta.key.name, cause(finding));
    let (reason, text) = match finding.step {
        Step::Request => (
            EventReason::RemediationRequestFailed,
            messages::request_failed(external_kind(view), name, &cause, failure),
        ),
        Step::Annotate => (
            EventReason::ExternalAnnotationFailed,
            messages::annotation_failed(name, &cause, failure),
        ),
        _ => (EventReason::MachineDeletionFailed, messages::deletion_failed(name, &cause, failure)),
    };
    warning(reason, text)
}

/// Events about a remediation object that is no longer needed, and whether its deletion failed.
fn ends(ended: &Ended, fate: &Fate) -> (Vec<EventNote>, bool) {
    let name = &ended.machine.key.name;
    let (event, failed) = match fate {
        Fate::Ended => {
            let text = messages::recovered(&ended.kind, name);
            (Some(EventNote::normal(EventReason::RemediationEnded, ACTION, text)), false)
        }
        Fate::Failed(failure) => {
            let text = messages::end_failed(&ended.kind, name, failure);
            let event = warning(EventReason::RemediationRequestFailed, text);
            (Some(event).filter(|_| failure.category.needs_attention()), true)
        }
        _ => (None, false),
    };
    let about = event.clone().map(|event| event.about(MACHINES, &ended.machine));
    (about.into_iter().chain(event).collect(), failed)
}

/// What prevents external remediation.
fn unavailable(view: &View) -> Vec<EventNote> {
    let Some(external) = &view.external else { return Vec::new() };
    let template = external.template.as_ref().err();
    let requests = external.requests.as_ref().err().filter(|why| Some(*why) != template);
    let all = template.into_iter().chain(requests);
    // The cause of the other one, which is reported.
    let all = all.filter(|why| !matches!(why, Unavailable::NotListed(_)));
    let event = |why| warning(EventReason::RemediationUnavailable, messages::unavailable(why));
    all.map(event).collect()
}

/// Whether something could not be read of which no change will be seen.
fn is_unreadable(view: &View, assessment: &Assessment) -> bool {
    let polled = |why: &Unavailable| {
        matches!(why, Unavailable::NotServed { .. } | Unavailable::Unreadable(_))
    };
    let external = view.external.as_ref();
    let template = external.and_then(|one| one.template.as_ref().err());
    let requests = external.and_then(|one| one.requests.as_ref().err());
    let unknown = |(_, hold): (&Finding, &Hold)| match hold {
        Hold::NoBudget(_, NoBudget::Unknown(why)) => {
            matches!(why, NoLimit::Unreadable(_) | NoLimit::NotServed)
        }
        _ => false,
    };
    template.into_iter().chain(requests).any(polled) || assessment.held().any(unknown)
}

/// The deletions follow in the reconcile that the write causes.
fn recorded(failure: Option<&Failure>) -> Report {
    match failure {
        None => Report { retry: Some(Retry::Soon), ..Report::quiet(ReconcileResult::Changed) },
        Some(failure) => {
            let text = messages::not_recorded(failure);
            Report::failed(failure, warning(EventReason::ReconcileError, text))
        }
    }
}

/// Events about the health check, the Machines that are replaced no more, and their MachineSets.
fn retry_limits(view: &View, assessment: &Assessment) -> Vec<EventNote> {
    let held = assessment.held().filter(|(_, hold)| matches!(hold, Hold::RetryLimit { .. }));
    let events = held.take(MOST_EVENTS).filter_map(|(finding, _)| {
        let event = warning(EventReason::RetryLimitReached, messages::finding(finding)?);
        let of_machine = event.clone().about(MACHINES, &finding.meta);
        let member = view.members.iter().find(|member| member.meta.uid == finding.meta.uid);
        let owner = member.and_then(|member| member.machine.as_deref()?.owner.as_deref());
        let set = owner.map(|owner| Meta {
            key: ObjectKey::new(Arc::clone(&finding.meta.key.namespace), Arc::clone(&owner.name)),
            uid: owner.uid.clone(),
            version: Version::default(),
            deleting: false,
        });
        let of_set = set.map(|set| event.clone().about(MACHINE_SETS, &set));
        Some([Some(event), Some(of_machine), of_set].into_iter().flatten())
    });
    events.flatten().collect()
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
        Step::Wait(at)
        | Step::Held(
            Hold::Preserved(at) | Hold::Budget { until: at, .. } | Hold::InFlight { until: at, .. },
        ) => *at,
        Step::Held(Hold::RequestPause(at)) => Some(*at),
        Step::Held(_) | Step::Requested(_) | Step::Remediate | Step::Request | Step::Annotate => {
            None
        }
    });
    // One may have ended since it was observed.
    let next = times.filter(|at| *at > observed).min()?;
    let wait = now.duration_until(next).max(SignedDuration::ZERO).checked_add(A_MOMENT)?;
    wait.try_into().ok()
}

#[cfg(test)]
mod tests;
