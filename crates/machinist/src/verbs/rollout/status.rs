//! The state of a rollout in a line, as `kubectl rollout status` prints it. Pure.

use machinist_api::names::{
    CONDITION_PROGRESSING, ERROR_INVALID_CONFIGURATION, REASON_CANARY_SOAKING,
    REASON_DEADLINE_EXCEEDED, REASON_DEPLOYMENT_PAUSED, REASON_NEW_SET_AVAILABLE,
    REASON_NEW_SET_CREATED, REASON_ROLLOUT_ABORTED, REASON_SET_CHANGED, REASON_SET_UPDATED,
};
use machinist_controllers::kinds::MachineDeployment;
use machinist_domain::conditions::Condition;

use super::messages;

/// As in the controller, where the API server has set no default.
const DEFAULT_REPLICAS: i32 = 1;

/// Those of which the line says what is the case.
const OWN_REASONS: [&str; 9] = [
    ERROR_INVALID_CONFIGURATION,
    REASON_CANARY_SOAKING,
    REASON_DEADLINE_EXCEEDED,
    REASON_DEPLOYMENT_PAUSED,
    REASON_NEW_SET_AVAILABLE,
    REASON_NEW_SET_CREATED,
    REASON_ROLLOUT_ABORTED,
    REASON_SET_CHANGED,
    REASON_SET_UPDATED,
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) state: State,
    pub(super) line: String,
    /// Why it waits, if that is more than the usual steps of a rollout.
    pub(super) note: Option<String>,
    /// Of `replicas`: Machines whose replacement is finished.
    pub(super) done: i32,
    pub(super) replicas: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Complete,
    Waiting,
    /// The controller refused the spec, this one or the one before.
    Refused,
    Failed,
}

/// `revision`: the only one that is not a failure.
pub(super) fn assess(deployment: &MachineDeployment, revision: Option<i64>) -> Status {
    let counts = Counts::of(deployment);
    let (state, line) = counts.state(deployment, revision);
    let replicas = counts.replicas;
    let done = match state {
        State::Complete => replicas,
        _ => counts.updated.min(replicas - counts.old).min(counts.available).clamp(0, replicas),
    };
    let note = match state {
        State::Waiting => trouble(deployment),
        State::Complete | State::Refused | State::Failed => None,
    };
    Status { state, line, note, done, replicas }
}

struct Counts {
    replicas: i32,
    updated: i32,
    available: i32,
    old: i32,
}

impl Counts {
    fn of(deployment: &MachineDeployment) -> Self {
        let status = &deployment.status;
        let updated = status.updated.unwrap_or(0);
        Self {
            replicas: deployment.spec.replicas.unwrap_or(DEFAULT_REPLICAS),
            updated,
            available: status.available.unwrap_or(0),
            old: status.replicas.unwrap_or(0) - updated,
        }
    }

    fn state(&self, deployment: &MachineDeployment, revision: Option<i64>) -> (State, String) {
        let name = &*deployment.meta.key.name;
        if deployment.meta.deleting {
            return (State::Failed, messages::deleting(name));
        }
        let running = deployment.revision.as_deref().and_then(|text| text.parse().ok());
        if let Some(wanted) = revision
            && running != Some(wanted)
        {
            return (State::Failed, messages::other_revision(name, wanted, running));
        }
        let progressing = progressing(deployment);
        let reason = progressing.and_then(|one| one.reason.as_deref()).unwrap_or_default();
        let message = || progressing.map(message).unwrap_or_default();
        if reason == ERROR_INVALID_CONFIGURATION {
            return (State::Refused, messages::refused(name, message()));
        }
        if deployment.status.observed_generation.is_none_or(|seen| seen < deployment.generation) {
            return (State::Waiting, messages::NOT_OBSERVED.to_owned());
        }
        if [REASON_ROLLOUT_ABORTED, REASON_SET_CHANGED].contains(&reason) {
            return (State::Failed, messages::aborted(name, message()));
        }
        let Self { replicas, updated, available, old } = *self;
        let waits = if reason == REASON_CANARY_SOAKING {
            messages::waits_controller(name, message())
        } else if updated < replicas {
            messages::waits_updated(name, updated, replicas)
        } else if old > 0 {
            messages::waits_old(name, old)
        } else if available < updated && reason != REASON_NEW_SET_AVAILABLE {
            // A Machine that is kept for debugging does not become available.
            messages::waits_available(name, available, updated)
        } else if [REASON_NEW_SET_CREATED, REASON_SET_UPDATED].contains(&reason) {
            messages::waits_controller(name, message())
        } else {
            return (State::Complete, messages::complete(name));
        };
        match reason {
            REASON_DEADLINE_EXCEEDED => {
                (State::Failed, messages::deadline_exceeded(name, message()))
            }
            REASON_DEPLOYMENT_PAUSED => (State::Waiting, messages::paused_rollout(&waits, name)),
            _ => (State::Waiting, waits),
        }
    }
}

/// The reason that the controller has taken over from the MachineSet, and its message.
fn trouble(deployment: &MachineDeployment) -> Option<String> {
    let seen = deployment.status.observed_generation?;
    let condition = progressing(deployment).filter(|_| seen >= deployment.generation)?;
    let reason = condition.reason.as_deref().filter(|reason| !OWN_REASONS.contains(reason))?;
    Some(messages::trouble(reason, message(condition)))
}

fn progressing(deployment: &MachineDeployment) -> Option<&Condition> {
    deployment.status.conditions.iter().find(|one| one.kind == CONDITION_PROGRESSING)
}

/// Whether the rollout is stopped because of new Machines that failed.
pub(super) fn is_aborted(deployment: &MachineDeployment) -> bool {
    let reason = progressing(deployment).and_then(|one| one.reason.as_deref());
    reason == Some(REASON_ROLLOUT_ABORTED)
}

fn message(condition: &Condition) -> &str {
    condition.message.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::undo::tests::deployment;
    use super::*;

    fn web(status: &Value) -> MachineDeployment {
        deployment(json!({
            "metadata": {
                "name": "web", "generation": 4,
                "annotations": {"machinedeployment.clusters.x-k8s.io/revision": "2"},
            },
            "spec": {"replicas": 3},
            "status": status,
        }))
    }

    fn status(counts: [i32; 3], reason: &str) -> Value {
        let [replicas, updated, available] = counts;
        json!({
            "observedGeneration": 4, "replicas": replicas, "updatedReplicas": updated,
            "availableReplicas": available,
            "conditions": [{"type": "Progressing", "status": "True", "reason": reason, "message": "M"}],
        })
    }

    #[test]
    fn lines_and_states() {
        let updating = REASON_SET_UPDATED;
        let mut unseen = status([3, 3, 3], "NewMachineSetAvailable");
        unseen["observedGeneration"] = json!(3);
        let mut text = String::new();
        for (what, status, revision) in [
            ("no status yet", json!({}), None),
            ("spec not observed", unseen, None),
            ("new Machines", status([4, 1, 3], updating), None),
            ("old Machines", status([4, 3, 4], updating), None),
            ("not available", status([3, 3, 2], updating), None),
            ("counts are complete", status([3, 3, 3], updating), None),
            ("complete", status([3, 3, 3], "NewMachineSetAvailable"), None),
            ("complete, its revision", status([3, 3, 3], "NewMachineSetAvailable"), Some(2)),
            ("another revision", status([3, 3, 3], "NewMachineSetAvailable"), Some(3)),
            ("paused", status([3, 0, 3], REASON_DEPLOYMENT_PAUSED), None),
            ("deadline", status([4, 1, 3], REASON_DEADLINE_EXCEEDED), None),
            ("deadline, then complete", status([3, 3, 3], REASON_DEADLINE_EXCEEDED), None),
            ("canaries", status([4, 1, 4], REASON_CANARY_SOAKING), None),
            ("aborted", status([4, 1, 3], REASON_ROLLOUT_ABORTED), None),
            ("aborted, all counts complete", status([3, 3, 3], REASON_ROLLOUT_ABORTED), None),
            ("failed Machines", status([4, 1, 3], "Failed"), None),
            ("set changed", status([3, 3, 3], REASON_SET_CHANGED), None),
            ("refused", status([4, 1, 3], ERROR_INVALID_CONFIGURATION), None),
        ] {
            let Status { state, line, note, done, replicas } = assess(&web(&status), revision);
            text.extend([format!("{what}: {state:?}, {done}/{replicas}\n  {line}\n")]);
            text.extend(note.map(|note| format!("  {note}\n")));
        }
        let mut going = web(&status([3, 3, 3], "NewMachineSetAvailable"));
        going.meta.deleting = true;
        let Status { state, line, .. } = assess(&going, None);
        text.extend([format!("being deleted: {state:?}\n  {line}\n")]);
        insta::assert_snapshot!("lines", text);
    }

    #[test]
    fn a_rollout_of_no_machines_is_complete() {
        let mut none = web(&status([0, 0, 0], "NewMachineSetAvailable"));
        none.spec.replicas = Some(0);
        let Status { state, done, replicas, .. } = assess(&none, None);
        assert_eq!((state, done, replicas), (State::Complete, 0, 0));
    }
}
