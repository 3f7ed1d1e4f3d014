use std::fmt::{self, Display};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_CREATION_TIMEOUT, ANNOTATION_DRAIN_TIMEOUT, ANNOTATION_IN_PLACE_TIMEOUT,
    ANNOTATION_PRESERVE, ANNOTATION_PRESERVED_UNTIL, IN_PLACE_FAILED, IN_PLACE_SELECTED,
    IN_PLACE_SUCCESSFUL, LABEL_CLUSTER, LABEL_IN_PLACE, LABEL_IN_PLACE_RESULT,
};
use machinist_domain::messages::span;
pub(super) use machinist_domain::messages::{authority, capitalized};
use machinist_domain::texts;
use machinist_provider::cloud::Instance;
use machinist_provider::spec::SpecError;

use super::error::{Fatal, Refusal};
use crate::cloud_access::messages::no_secret;
use crate::drain::Step;
use crate::kinds::Hook;

/// What to do about a failed Machine; its MachineDeployment has advice of its own.
pub(crate) const CORRECT_AND_DELETE: &str = "; correct the template of its MachineDeployment, or of its MachineSet if \
     it has none, then delete this Machine";
pub(crate) const DELETE_TO_REPLACE: &str = "; delete this Machine to replace it";
pub(super) const CREATING: &str = "Creating the instance";
pub(super) const NODE_UNCHANGED: &str =
    "the API server accepted the change and stored nothing; a webhook may have removed it";
pub(super) const PRESERVATION_ENDED: &str = "No longer kept for debugging: the Machine has \
    recovered, or annotation machinist.dev/preserve was removed or is false";
pub(super) const INSTANCE_DELETED: &str = "The instance is deleted";
pub(super) const NOTHING_LEFT: &str = "The instance and everything created with it are deleted";
pub(super) const NOT_REQUESTED: &str = "No instance was requested yet";
pub(super) const NOT_CREATED: &str = "No instance was created yet";
pub(super) const CHECKING_EARLIER_REQUEST: &str =
    "The create request was refused; checking whether an earlier request created the instance";
pub(super) const CHECKING_UNANSWERED_REQUEST: &str =
    "The create request was not answered; checking whether the instance was created";
pub(super) const NO_ANSWER_FOR_MACHINE: &str = "the provider returned no answer for this Machine";
pub(super) const PROVIDER_PANICKED: &str = "the provider panicked; see the log of the controller";
pub(super) const WAITING_FOR_NODE: &str = "Waiting for the node to register";

pub(super) const NOT_ADMITTED: &str = "Selected for an update in place; \
    waiting until spec.strategy.inPlaceUpdate.maxUnavailable permits it";
pub(super) const NO_NODE_TO_UPDATE: &str =
    "Selected for an update in place; waiting for the node to register";
pub(super) const DRAIN_BEGINS: &str =
    "Selected for an update in place; the drain of its node begins";
pub(super) const UPDATED: &str = "Updated in place";

texts! {
    pub(super) fn candidate() =
        "The MachineDeployment has another template; waiting for the label \
         {LABEL_IN_PLACE}={IN_PLACE_SELECTED}, which selects this Machine for an update in place";
    pub(super) fn ready_for_update(node: &str) =
        "Node {node} is drained and may be updated in place; waiting for the label \
         {LABEL_IN_PLACE_RESULT} on it, which the agent sets to {IN_PLACE_SUCCESSFUL} or {IN_PLACE_FAILED}";
    pub(super) fn update_late(node: &str, limit: Duration) =
        "The agent has not set the label {LABEL_IN_PLACE_RESULT} on node {node} within {}; \
         check the agent, or set the label to {IN_PLACE_SUCCESSFUL} or {IN_PLACE_FAILED}", span(limit);
    pub(super) fn update_failed() =
        "The agent has reported that the update in place failed; remove the label \
         {LABEL_IN_PLACE_RESULT} from the Machine to try again, or correct the template";
    pub(super) fn bad_update_timeout(value: &str) =
        "Annotation {ANNOTATION_IN_PLACE_TIMEOUT} must be a duration such as 30m (got {value:?})";
    pub(super) fn undecodable(error: &str) = "The Machine cannot be decoded: {error}";
    pub(super) fn created(instance: &Instance) = "Created instance {}", instance.id;
    pub(super) fn updated(instance: &Instance) = "Updated instance {}", instance.id;
    pub(super) fn write_failed(error: &str) = "Cannot write the Machine or its Node: {error}";
    pub(super) fn drift(why: &str) = "The instance differs from its spec: {why}";
    pub(super) fn waiting_for_node_with_drift(why: &str) =
        "{WAITING_FOR_NODE}; the instance differs from its spec: {why}";
    pub(super) fn drift_remains(drift: &str) = "{drift} (also after an update)";
    pub(super) fn late(last: &str, limit: Duration) =
        "{last} (not running after {}; creation continues)", span(limit);
    pub(super) fn creation_timed_out(limit: Duration, reason: &str) =
        "Not running after {}; creation continues; see condition Ready ({reason})", span(limit);
    pub(super) fn bad_creation_timeout(value: &str) =
        "Annotation {ANNOTATION_CREATION_TIMEOUT} must be a duration such as 30m (got {value:?})";
    pub(super) fn bad_drain_timeout(value: &str) =
        "Annotation {ANNOTATION_DRAIN_TIMEOUT} must be a duration such as 30m, or never (got {value:?})";
    pub(super) fn bad_duration(annotation: &str, value: &str) =
        "Annotation {annotation} must be a duration such as 30m (got {value:?}); the default applies";
    pub(super) fn bad_preserve(value: &str) =
        "Annotation {ANNOTATION_PRESERVE} must be now, when-failed or false (got {value:?}); \
         until it is corrected, a preservation neither begins nor is ended by it";
    pub(super) fn preserved(until: Timestamp) = "Kept for debugging until {until}";
    pub(super) fn preserved_failed(until: Timestamp) = "Failed, and kept for debugging until {until}";
    pub(super) fn preserved_drain(until: Timestamp, drain: &str) = "{}; {drain}", preserved_failed(until);
    pub(super) fn node_not_marked(cause: &str) =
        "Cannot mark the Node for the preservation, or remove marks from it: {cause}. The Machine goes on; allow patch \
         of nodes";
    pub(super) fn without_marks(text: &str, cause: &str) = "{text}; cannot mark its Node: {cause}";
    pub(super) fn preservation_expired(at: Timestamp) =
        "Was kept for debugging until {at}; to keep it again, remove annotation {ANNOTATION_PRESERVED_UNTIL}";
    pub(super) fn no_answer_in_time(timeout: Duration) =
        "no answer from the cloud within {}; retrying", span(timeout);
    pub(super) fn earlier_request_unanswered(error: &str) =
        "an earlier create request is unanswered; checking it before this refusal counts: {error}";
    pub(super) fn pending(instance: &Instance) = "Instance {} is pending", instance.id;
    pub(super) fn stopped(instance: &Instance) =
        "Instance {} is stopped{}; start it, or delete this Machine to replace it", instance.id, why(instance);
    pub(super) fn terminating(instance: &Instance) =
        "Instance {} is being terminated{}", instance.id, why(instance);
    pub(super) fn node_not_ready(node: &dyn Display) = "Node {node} is not ready";
    pub(super) fn node_unknown(node: &dyn Display) = "Node {node} does not report its status";
    pub(super) fn node_missing(node: &dyn Display) =
        "Node {node} does not exist; restart its kubelet so that it registers, or delete this Machine to replace it";
    pub(super) fn waiting_for_hooks(hooks: &[Hook]) = "Waiting for preTerminate hooks: {}", list(hooks);
    pub(super) fn drain_blocked(hooks: &[Hook]) = "The drain is blocked by preDrain hooks: {}", list(hooks);
    pub(super) fn termination_blocked(hooks: &[Hook]) =
        "The termination is blocked by preTerminate hooks: {}", list(hooks);
}

/// `instance`: its id, where it is known.
pub(super) fn not_deleted(instance: Option<&str>, error: &str) -> String {
    let instance =
        instance.map_or_else(|| "the instance".to_owned(), |id| format!("instance {id}"));
    format!("Cannot delete {instance}: {error}")
}

fn why(instance: &Instance) -> String {
    instance.state_reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}

fn list(hooks: &[Hook]) -> String {
    let names: Vec<_> =
        hooks.iter().map(|hook| format!("{} ({})", hook.name, hook.owner)).collect();
    names.join(", ")
}

pub(super) fn draining(step: Step) -> &'static str {
    match step {
        Step::WaitingForHooks => "Waiting for preDrain hooks",
        Step::WaitingForControlPlane => "Waiting for the drain of another control-plane node",
        Step::Cordoning
        | Step::Evicting
        | Step::EvictionBlocked
        | Step::WaitingForPods
        | Step::WaitingForVolumes
        | Step::Forcing => "Draining the node; see condition Drained",
        Step::CannotRead => "The node or its pods cannot be read; retrying",
        Step::Skipped => "The drain is skipped; see condition Drained",
        Step::NodeGone => "The node does not exist",
        Step::Succeeded => "The node is drained",
        Step::VolumesLeft | Step::Forced => "The drain has ended; see condition Drained",
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClusterLabel => {
                write!(
                    f,
                    "Label {LABEL_CLUSTER} is missing; set it in the template of its MachineDeployment, or of its \
                     MachineSet if it has none"
                )
            }
            Self::BadSpec(SpecError::Missing) => {
                f.write_str("spec.providerSpec.value: is required")
            }
            Self::BadSpec(error) => f.write_str(&capitalized(&error.to_string())),
            Self::NoSecret(key) => f.write_str(&no_secret(key)),
            Self::NotFoundOut(failure) => f.write_str(&capitalized(&failure.message)),
            Self::CouldNotLook(failure) => {
                write!(f, "Cannot read the state of the instance: {}", failure.message)
            }
        }
    }
}

impl Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = format!("(annotation {ANNOTATION_CREATION_TIMEOUT})");
        match self {
            Self::InvalidConfiguration(why) => {
                let why = capitalized(why);
                return write!(f, "{why}{CORRECT_AND_DELETE}");
            }
            Self::Missing(Some(id)) => write!(f, "Instance {id} does not exist any more")?,
            Self::Missing(None) => f.write_str("The instance does not exist any more")?,
            Self::Terminated { id, reason } => {
                let reason = reason.as_deref().unwrap_or("no reason given");
                write!(f, "Instance {id} was terminated ({reason})")?;
            }
            Self::NotCreatedInTime(limit) => {
                write!(f, "No instance was created within {limit} {late}")?;
            }
            Self::NotJoinedInTime(limit) => write!(f, "No node registered within {limit} {late}")?,
        }
        f.write_str(DELETE_TO_REPLACE)
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;
    use machinist_domain::machine::MachineAuthority::{ClusterApi, MachineApi, Unknown};
    use machinist_domain::message_table::message_table;
    use machinist_domain::retry::{Category, Classified as _, Failure};
    use machinist_provider::cloud::InstanceState;

    use super::super::samples::{failure, instance};
    use super::*;

    fn of_preservations() -> [(&'static str, &'static str, String); 9] {
        let until = "2026-06-05T12:00:00Z".parse().unwrap();
        let preserved_now = "condition Preserved=True, Event Normal Preserved";
        let ended = "condition Preserved=False, Event Normal PreservationEnded";
        let invalid = "condition Preserved=False, Event Warning FailedValidate";
        [
            (preserved_now, "Requested", preserved(until)),
            (preserved_now, "MachineFailed", preserved_failed(until)),
            (
                "condition Preserved=True",
                "WaitingForPods",
                preserved_drain(until, "1 pod left: ns/web"),
            ),
            (
                "condition Preserved=True",
                "Requested",
                without_marks(&preserved(until), NODE_UNCHANGED),
            ),
            ("Event Warning", "FailedUpdate", node_not_marked(NODE_UNCHANGED)),
            (ended, "Expired", preservation_expired(until)),
            ("Event Normal", "PreservationEnded", PRESERVATION_ENDED.to_owned()),
            (invalid, "InvalidValue", bad_preserve("true")),
            (
                "Event Warning",
                "FailedValidate",
                bad_duration("machinist.dev/preserve-timeout", "soon"),
            ),
        ]
    }

    fn in_place() -> [(&'static str, &'static str, String); 9] {
        let waits = "condition InPlaceUpdate=False";
        let late = "condition InPlaceUpdate=False, Event Warning FailedUpdate";
        [
            (waits, "Candidate", candidate()),
            (waits, "Selected", NOT_ADMITTED.to_owned()),
            (waits, "Selected", NO_NODE_TO_UPDATE.to_owned()),
            (waits, "Selected", DRAIN_BEGINS.to_owned()),
            (waits, "ReadyForUpdate", ready_for_update("worker-1")),
            (late, "TimedOut", update_late("worker-1", Duration::from_mins(20))),
            (late, "Failed", update_failed()),
            ("condition InPlaceUpdate=True, Event Normal Update", "Successful", UPDATED.to_owned()),
            ("Event Warning", "FailedValidate", bad_update_timeout("soon")),
        ]
    }

    #[test]
    fn messages() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let running = instance(InstanceState::Running);
        let hooks = [Hook { name: "backup".into(), owner: "team-a".into() }];
        let stopped_instance = instance(InstanceState::Stopped);
        let lost = |message: &str| Failure {
            message: message.to_owned(),
            ..failure(Category::Unavailable)
        };
        let limit = || "30m".to_owned();
        let secret = ObjectKey::new("ns", "keys");
        let ready = "condition Ready=False";
        let exists = "condition InstanceExists=False";
        let unknown = "condition InstanceExists=Unknown";
        let event_too = "Event Warning, condition Ready=False";
        let invalid = "condition Ready=False, Event Warning FailedValidate";
        let failing = "condition Ready=False, Event Warning ReconcileError";
        let paused = "condition Paused=True";
        let paused_by_mistake = "condition Paused=True, Event Warning FailedValidate";
        let warning = "Event Warning";
        let failed = [
            Fatal::InvalidConfiguration("placement.region: is required".to_owned()),
            Fatal::Missing(Some("cloud:///zone-a/i-1".into())),
            Fatal::Missing(None),
            Fatal::Terminated { id: "i-1".into(), reason: Some("host failed".into()) },
            Fatal::Terminated { id: "i-1".into(), reason: None },
            Fatal::NotCreatedInTime(limit()),
            Fatal::NotJoinedInTime(limit()),
        ];
        let refused = [
            Refusal::NoClusterLabel,
            Refusal::BadSpec(SpecError::Missing),
            Refusal::NoSecret(secret),
            Refusal::NotFoundOut(lost("cannot read Infrastructure cluster: no answer")),
            Refusal::CouldNotLook(lost(&no_answer_in_time(minutes(1)))),
            Refusal::CouldNotLook(lost(NO_ANSWER_FOR_MACHINE)),
            Refusal::CouldNotLook(lost(PROVIDER_PANICKED)),
        ];
        let mut rows = vec![
            (ready, "Creating", CREATING.to_owned()),
            (ready, "InstancePending", pending(&running)),
            (ready, "InstanceStopped", stopped(&stopped_instance)),
            (ready, "InstanceTerminating", terminating(&running)),
            (ready, "WaitingForNode", WAITING_FOR_NODE.to_owned()),
            (ready, "WaitingForNode", waiting_for_node_with_drift("tag x is missing")),
            (ready, "UpdateFailed", drift("tag x is missing")),
            (ready, "UpdateFailed", drift(&drift_remains("tag x is missing"))),
            (ready, "NodeNotReady", node_not_ready(&"worker-1")),
            (ready, "NodeNotReady", node_unknown(&"worker-1")),
            ("Event Warning, condition Ready=False", "NodeMissing", node_missing(&"worker-1")),
            (ready, "CapacityExhausted", late("No capacity in zone a", minutes(20))),
            (warning, "CreationTimedOut", creation_timed_out(minutes(20), "CapacityExhausted")),
            (ready, "Unavailable", capitalized(&no_answer_in_time(minutes(1)))),
            (
                ready,
                "Unavailable",
                capitalized(&earlier_request_unanswered("parameter x is invalid")),
            ),
            (
                failing,
                "Unauthorised",
                write_failed(
                    "the API server answered 403 Forbidden: nodes \"worker-1\" is forbidden",
                ),
            ),
            (ready, "WaitingForHooks", waiting_for_hooks(&hooks)),
            (ready, "Deleting", CHECKING_UNANSWERED_REQUEST.to_owned()),
            (ready, "Deleting", INSTANCE_DELETED.to_owned()),
            (ready, "DeletionFailed", not_deleted(Some("i-1"), "Access denied")),
            (ready, "DeletionFailed", not_deleted(None, "Access denied")),
        ];
        for step in Step::ALL {
            rows.push((ready, "Deleting", draining(step).to_owned()));
        }
        rows.dedup();
        rows.extend(failed.iter().map(|fatal| (event_too, "Failed", fatal.to_string())));
        for refusal in &refused {
            let of_spec = matches!(refusal, Refusal::NoClusterLabel | Refusal::BadSpec(_));
            let place = if of_spec { invalid } else { failing };
            rows.push((place, refusal.category().as_str(), refusal.to_string()));
        }
        rows.extend([
            (exists, "InstanceNotRequested", NOT_REQUESTED.to_owned()),
            (exists, "InstanceNotCreated", NOT_CREATED.to_owned()),
            (exists, "InstanceGone", NOTHING_LEFT.to_owned()),
            (unknown, "ErrorCheckingProvider", CHECKING_EARLIER_REQUEST.to_owned()),
            (unknown, "ErrorCheckingProvider", CHECKING_UNANSWERED_REQUEST.to_owned()),
            ("condition Drainable=False", "HookPresent", drain_blocked(&hooks)),
            ("condition Terminable=False", "HookPresent", termination_blocked(&hooks)),
            ("condition Paused=False", "AuthoritativeAPIMachineAPI", authority(MachineApi)),
            (paused, "AuthoritativeAPINotMachineAPI", authority(ClusterApi)),
            (paused_by_mistake, "AuthoritativeAPINotMachineAPI", authority(Unknown)),
            ("Event Normal", "Create", created(&running)),
            ("Event Normal", "Update", updated(&running)),
            ("Event Normal", "Delete", INSTANCE_DELETED.to_owned()),
            (warning, "ReconcileError", undecodable("spec.taints: invalid type")),
            (warning, "FailedValidate", bad_creation_timeout("soon")),
            (warning, "FailedValidate", bad_drain_timeout("soon")),
        ]);
        rows.extend(of_preservations().into_iter().chain(in_place()));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
