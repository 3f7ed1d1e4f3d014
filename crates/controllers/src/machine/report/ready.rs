//! The condition `Ready`: whether all is as it should be, and if not, why, in one word of a closed list and a sentence.

use crate::drain::Step;
use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_READY, REASON_CREATION_TIMED_OUT, SEVERITY_ERROR, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::Condition;
use machinist_domain::machine::Phase;
use machinist_domain::retry::{Category, Classified as _};
use machinist_provider::cloud::{CloudError, Deletion, Instance, InstanceState};

use super::super::error::Refusal;
use super::super::plan::Outcome;
use super::super::snapshot::View;
use super::facts::Facts;
use super::spoken;
use crate::kinds::Ready;

/// Its instance is being created; all is going as it should.
const CREATING: &str = "Creating";
/// It is on its way out.
const DELETING: &str = "Deleting";
/// It failed for good.
const FAILED: &str = "Failed";
/// The instance runs, and its Node is not there yet.
const WAITING_FOR_NODE: &str = "WaitingForNode";
/// The instance is being made.
const INSTANCE_PENDING: &str = "InstancePending";
/// The instance was stopped by somebody.
const INSTANCE_STOPPED: &str = "InstanceStopped";
/// The instance is being removed by somebody.
const INSTANCE_TERMINATING: &str = "InstanceTerminating";
/// The Node that it had is gone.
const NODE_MISSING: &str = "NodeMissing";
/// Its Node is not ready.
const NODE_NOT_READY: &str = "NodeNotReady";
/// What differs in the instance could not be repaired; it is tried again.
const UPDATE_FAILED: &str = "UpdateFailed";
const TEXT_WAITING_FOR_NODE: &str = "the instance runs, and no node has come of it yet";
/// The instance could not be removed; it is tried again.
const DELETION_FAILED: &str = "DeletionFailed";
/// A hook is in the way of the removal of the instance.
const WAITING_FOR_HOOKS: &str = "WaitingForHooks";

/// Whether all is as it should be after a pass; `None` where that stays as it is.
pub(super) fn condition(view: &View, outcome: &Outcome, facts: &Facts) -> Option<Condition> {
    if let Some(fatal) = &facts.fatal {
        return Some(no(SEVERITY_ERROR, FAILED, fatal.to_string()));
    }
    let deleting = |message: &str| Some(no(SEVERITY_INFO, DELETING, message.to_owned()));
    match outcome {
        Outcome::Left(_)
        | Outcome::Done
        | Outcome::DryRun
        | Outcome::AuthoritySettled
        | Outcome::Looking
        | Outcome::Created(_)
        | Outcome::GivenUp(_) => None,
        Outcome::Failed(failure) => failure.category.is_for_people().then(|| {
            let text = format!("a write was refused: {}", failure.message);
            no(SEVERITY_WARNING, failure.category.as_str(), text)
        }),
        Outcome::Refused(refusal) => Some(refused(refusal)),
        Outcome::Paused { why, .. } => {
            Some(no(SEVERITY_WARNING, why.category.as_str(), why.message.clone()))
        }
        Outcome::Prepared(_) => {
            Some(no(SEVERITY_INFO, CREATING, "the instance is being created".to_owned()))
        }
        Outcome::NotCreated(error) => {
            Some(no(SEVERITY_WARNING, error.category().as_str(), error.message.clone()))
        }
        Outcome::Seen(instance) => {
            let unrepaired = view.unrepaired.as_ref().filter(|_| instance.drift.is_some());
            Some(repaired(seen(view, instance), unrepaired.map(|last| &*last.why)))
        }
        Outcome::Repaired(instance) => Some(seen(view, instance)),
        Outcome::NotRepaired(error) => {
            let seen = facts.instance.as_deref().map(|instance| seen(view, instance));
            seen.map(|seen| repaired(seen, Some(&error.message)))
        }
        Outcome::Waiting(_) => {
            let awaited = "an instance was asked for and may still appear, so it is looked for";
            deleting(awaited).filter(|_| view.awaits_an_unknown_instance())
        }
        Outcome::Drained(verdict, _) => {
            deleting(draining(facts.drain_step.unwrap_or(verdict.step)))
        }
        Outcome::AwaitingHooks => Some(hooks(view)),
        Outcome::Terminating(Deletion::UnderWay(what)) => deleting(what),
        Outcome::NothingLeft | Outcome::Terminating(Deletion::Gone) => {
            deleting("the instance is gone")
        }
        Outcome::NotTerminated(error) => Some(not_terminated(error)),
    }
}

/// A creation that takes too long says so, with what was last in the way, and goes on.
pub(super) fn mind_the_time(view: &View, facts: &mut Facts, now: Timestamp) {
    let limit = view.rules.timings.creation;
    let over = now.duration_since(view.machine.created).unsigned_abs() >= limit
        && now > view.machine.created
        && !view.machine.meta.deleting
        && view.is_coming();
    let still_coming = !matches!(facts.phase, Some(Phase::Running | Phase::Failed));
    let Some(ready) = facts.ready.take_if(|_| over && still_coming) else { return };
    let known = view.machine.condition(CONDITION_READY);
    let known = known.filter(|known| known.reason.as_deref() == Some(REASON_CREATION_TIMED_OUT));
    facts.is_late = known.is_none();
    // That it is being tried once more is no news to somebody who reads what was in the way.
    let is_progress = ready.reason.as_deref() == Some(CREATING);
    facts.ready = Some(match known {
        Some(known) if is_progress => known.clone(),
        _ => {
            let last = ready.message.as_deref().unwrap_or_default();
            let text = format!("not running after {}, and still trying: {last}", spoken(limit));
            no(SEVERITY_WARNING, REASON_CREATION_TIMED_OUT, text)
        }
    });
}

/// How far the drain is, in short: the condition `Drained` has the names.
fn draining(step: Step) -> &'static str {
    match step {
        Step::WaitingForHooks => "waits for preDrain hooks",
        Step::WaitingForControlPlane => "waits for another control-plane node to be drained",
        Step::Cordoning
        | Step::Evicting
        | Step::EvictionBlocked
        | Step::WaitingForPods
        | Step::WaitingForVolumes
        | Step::Forcing => "the node is being drained",
        Step::CannotLook => "waits for a look at the node",
        Step::Skipped => "nothing is drained",
        Step::NodeGone => "the node does not exist any more",
        Step::Succeeded | Step::VolumesLeft | Step::Forced => "the node is drained",
    }
}

fn refused(refusal: &Refusal) -> Condition {
    no(SEVERITY_WARNING, refusal.category().as_str(), refusal.to_string())
}

fn not_terminated(error: &CloudError) -> Condition {
    let text = format!("the instance could not be removed: {}", error.message);
    let severity = match error.category() {
        Category::Unauthorised | Category::InvalidConfiguration => SEVERITY_ERROR,
        _ => SEVERITY_WARNING,
    };
    no(severity, DELETION_FAILED, text)
}

fn hooks(view: &View) -> Condition {
    let hooks = view.machine.hooks.pre_terminate.iter();
    let names: Vec<_> = hooks.map(|hook| format!("{} ({})", hook.name, hook.owner)).collect();
    let text = format!("waits for preTerminate hooks: {}", names.join(", "));
    no(SEVERITY_INFO, WAITING_FOR_HOOKS, text)
}

/// Whether instance and Node are well, even if something about the instance is not as it should be.
pub(super) fn runs_well(ready: &Condition) -> bool {
    ready.is_true() || ready.reason.as_deref() == Some(UPDATE_FAILED)
}

/// How a machine is, in which something could not be repaired. Whatever else is wrong with it matters more.
fn repaired(seen: Condition, failed: Option<&str>) -> Condition {
    match failed {
        Some(why) if seen.is_true() => {
            let text = format!("the instance differs from what it should be: {why}");
            no(SEVERITY_WARNING, UPDATE_FAILED, text)
        }
        // A load balancer that does not know the instance may be why no node comes.
        Some(why) if seen.reason.as_deref() == Some(WAITING_FOR_NODE) => {
            let text = format!("{TEXT_WAITING_FOR_NODE}; it differs from what it should be: {why}");
            no(SEVERITY_WARNING, WAITING_FOR_NODE, text)
        }
        _ => seen,
    }
}

/// How a machine is whose instance exists.
fn seen(view: &View, instance: &Instance) -> Condition {
    let with_reason = |text: &str| match &instance.state_reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text.to_owned(),
    };
    let node_is_ready = view.node.as_ref().is_some_and(|node| node.is_ready());
    match instance.state {
        // A kubelet that is well runs somewhere, whatever was last seen.
        InstanceState::Pending if view.machine.status.node_ref.is_some() && node_is_ready => {}
        InstanceState::Pending => {
            let text = "the instance is being made by the cloud".to_owned();
            return no(SEVERITY_INFO, INSTANCE_PENDING, text);
        }
        InstanceState::Stopped => {
            return no(SEVERITY_WARNING, INSTANCE_STOPPED, with_reason("the instance is stopped"));
        }
        InstanceState::Terminating | InstanceState::Terminated => {
            let text = with_reason("somebody removes the instance");
            return no(SEVERITY_WARNING, INSTANCE_TERMINATING, text);
        }
        InstanceState::Running => {}
    }
    let Some(named) = &view.machine.status.node_ref else {
        return no(SEVERITY_INFO, WAITING_FOR_NODE, TEXT_WAITING_FOR_NODE.to_owned());
    };
    match view.node.as_ref().map(|node| node.readiness.status) {
        Some(Ready::Yes) => Condition::yes(CONDITION_READY),
        Some(Ready::No) => {
            no(SEVERITY_WARNING, NODE_NOT_READY, format!("node {} is not ready", named.name))
        }
        Some(Ready::Unknown) => no(
            SEVERITY_WARNING,
            NODE_NOT_READY,
            format!("nothing is heard from node {}", named.name),
        ),
        None => no(SEVERITY_WARNING, NODE_MISSING, format!("node {} does not exist", named.name)),
    }
}

fn no(severity: &'static str, reason: &'static str, message: String) -> Condition {
    Condition::no(CONDITION_READY, severity, reason, message)
}
