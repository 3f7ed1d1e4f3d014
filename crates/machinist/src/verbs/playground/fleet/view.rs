//! The tables of the deployment and of its machines. Pure.

use jiff::Timestamp;
use kube::ResourceExt as _;
use machinist_api::machine::Machine;
use machinist_api::machine_deployment::MachineDeployment;
use machinist_api::names::{CONDITION_PROGRESSING, REASON_NEW_SET_AVAILABLE};

use crate::verbs::playground::screen::state::{Health, MachineRow};
use crate::verbs::playground::view::{self, cut};
use crate::verbs::table::age;

const REASON_WIDTH: usize = 50;
const AGE: usize = 3;

pub(super) fn is_running(machine: &Machine) -> bool {
    phase(machine) == "Running" && machine.metadata.deletion_timestamp.is_none()
}

fn phase(machine: &Machine) -> &str {
    machine.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(super) fn deployments(deployments: &[MachineDeployment]) -> String {
    let headings = ["MACHINEDEPLOYMENT", "DESIRED", "READY", "UP-TO-DATE", "AVAILABLE", "REASON"];
    view::table(&headings, deployments.iter().map(deployment_row).collect())
}

pub(super) fn deployment_row(deployment: &MachineDeployment) -> Vec<String> {
    let status = deployment.status.clone().unwrap_or_default();
    let count = |count: Option<i32>| count.unwrap_or(0).to_string();
    let progressing = status.conditions.iter().flatten();
    let progressing = progressing.clone().find(|one| one.kind == CONDITION_PROGRESSING);
    vec![
        deployment.name_any(),
        count(deployment.spec.replicas),
        count(status.ready_replicas),
        count(status.updated_replicas),
        count(status.available_replicas),
        progressing.and_then(|one| one.reason.clone()).unwrap_or_default(),
    ]
}

/// Whether `Progressing` of the first deployment that is not complete is False, and its message; with its name if there
/// are several.
pub(super) fn progress(deployments: &[MachineDeployment]) -> (bool, String) {
    let all = deployments.iter().filter_map(|deployment| {
        let conditions = deployment.status.iter().flat_map(|status| &status.conditions).flatten();
        let mut progressing = conditions.filter(|one| one.kind == CONDITION_PROGRESSING);
        Some((deployment, progressing.next()?))
    });
    let all: Vec<_> = all.collect();
    let is_complete = |reason: Option<&str>| reason == Some(REASON_NEW_SET_AVAILABLE);
    let mut others = all.iter().filter(|(_, one)| !is_complete(one.reason.as_deref()));
    others.next().or(all.first()).map_or_else(Default::default, |(deployment, one)| {
        let message = one.message.as_deref().unwrap_or_default();
        let several = deployments.len() > 1;
        let name = if several { format!("{}: ", deployment.name_any()) } else { String::new() };
        (one.status == "False", format!("{name}{message}"))
    })
}

pub(super) fn machine_row(machine: &Machine) -> MachineRow {
    let status = machine.status.as_ref();
    let failed =
        phase(machine) == "Failed" || status.is_some_and(|status| status.error_message.is_some());
    let why = why(machine);
    let health = match &why {
        _ if failed => Health::Failed,
        None if is_running(machine) => Health::Ready,
        _ => Health::Unready,
    };
    let node = status.and_then(|status| status.node_ref.as_ref());
    MachineRow {
        name: machine.name_any(),
        phase: phase(machine).to_owned(),
        node: node.and_then(|node| node.name.clone()).unwrap_or_default(),
        created: machine.creation_timestamp().map(|time| time.0),
        why: why.unwrap_or_default(),
        health,
    }
}

/// Ages change every second. Without a terminal, where every change is printed, they are left out.
pub(super) fn table(machines: &[Machine], now: Timestamp, with_ages: bool) -> String {
    let mut headings = vec!["MACHINE", "PHASE", "NODE", "AGE", "WHY NOT READY"];
    let mut rows: Vec<_> = machines.iter().map(|machine| row(machine, now)).collect();
    if !with_ages {
        headings.remove(AGE);
        for row in &mut rows {
            row.remove(AGE);
        }
    }
    view::table(&headings, rows)
}

fn row(machine: &Machine, now: Timestamp) -> Vec<String> {
    let node = machine.status.as_ref().and_then(|status| status.node_ref.as_ref());
    let created = machine.creation_timestamp().map(|time| time.0);
    vec![
        machine.name_any(),
        phase(machine).to_owned(),
        node.and_then(|node| node.name.clone()).unwrap_or_default(),
        age(created.map_or(0, |created| now.duration_since(created).as_secs())),
        cut(&why(machine).unwrap_or_default(), REASON_WIDTH),
    ]
}

/// Why a machine is not ready: the permanent error, otherwise a condition that is False.
fn why(machine: &Machine) -> Option<String> {
    let status = machine.status.as_ref()?;
    if let Some(message) = &status.error_message {
        return Some(message.clone());
    }
    // During a deletion the drain is the cause.
    let of = |kind: &str| {
        let mut conditions = status.conditions.iter().flatten();
        conditions.find(|one| one.kind == kind && one.status == "False")
    };
    let deleting = machine.metadata.deletion_timestamp.is_some();
    let drained = of("Drained").filter(|_| deleting);
    let condition = drained.or_else(|| of("Ready"))?;
    let reason = condition.reason.clone().unwrap_or_default();
    match condition.message.as_deref().filter(|message| !message.is_empty()) {
        Some(message) => Some(format!("{reason}: {message}")),
        None => Some(reason),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-01T00:01:30Z";

    fn machine(status: &serde_json::Value) -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_deployment_has_its_counts_and_the_state_of_its_rollout() {
        let deployment: MachineDeployment = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment",
            "metadata": {"name": "fleet"},
            "spec": {"replicas": 3},
            "status": {"readyReplicas": 4, "updatedReplicas": 1, "availableReplicas": 2, "conditions": [
                {"type": "Progressing", "status": "True", "reason": "MachineSetUpdated",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ]},
        }))
        .unwrap();
        let table = deployments(std::slice::from_ref(&deployment));
        let row: Vec<_> = table.lines().skip(1).flat_map(str::split_whitespace).collect();
        assert_eq!(row, ["fleet", "3", "4", "1", "2", "MachineSetUpdated"], "{table}");
    }

    #[test]
    fn the_progress_is_that_of_a_deployment_that_is_not_complete() {
        let deployment = |name: &str, status: &str, reason: &str| -> MachineDeployment {
            serde_json::from_value(json!({
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment",
                "metadata": {"name": name},
                "spec": {},
                "status": {"conditions": [
                    {"type": "Progressing", "status": status, "reason": reason, "message": "M",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"},
                ]},
            }))
            .unwrap()
        };
        let complete = deployment("a", "True", "NewMachineSetAvailable");
        let refused = deployment("b", "False", "InvalidConfiguration");
        assert_eq!(progress(&[]), (false, String::new()));
        assert_eq!(progress(std::slice::from_ref(&complete)), (false, "M".to_owned()));
        assert_eq!(progress(&[complete, refused]), (true, "b: M".to_owned()));
    }

    #[test]
    fn a_running_machine_has_no_reason() {
        let machine =
            machine(&json!({"phase": "Running", "nodeRef": {"name": "n"}, "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ]}));
        assert_eq!(row(&machine, NOW.parse().unwrap()), ["a", "Running", "n", "90s", ""]);
    }

    #[test]
    fn the_false_condition_is_shown_and_cut() {
        let machine = machine(&json!({"phase": "Provisioning", "conditions": [
            {"type": "Ready", "status": "False", "reason": "CapacityExhausted",
             "message": "no room ".repeat(20), "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}));
        let table =
            |with_ages| table(std::slice::from_ref(&machine), NOW.parse().unwrap(), with_ages);
        assert!(!table(false).contains("AGE"));
        let table = table(true);
        assert!(table.contains("AGE") && table.contains("CapacityExhausted: no room"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    }

    #[test]
    fn a_machine_is_healthy_if_it_runs_and_nothing_is_wrong() {
        let health = |status| machine_row(&machine(&status)).health;
        let ready = |status: &str| {
            json!([{"type": "Ready", "status": status, "reason": "NodeNotReady",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}])
        };
        let running = |ready| json!({"phase": "Running", "conditions": ready});
        assert_eq!(health(running(ready("True"))), Health::Ready);
        assert_eq!(health(running(ready("False"))), Health::Unready);
        assert_eq!(health(json!({"phase": "Provisioning"})), Health::Unready);
        assert_eq!(health(json!({})), Health::Unready);
        assert_eq!(health(json!({"phase": "Failed"})), Health::Failed);
    }

    #[test]
    fn a_permanent_error_takes_precedence() {
        let status = json!({"phase": "Failed", "errorMessage": "no such type", "conditions": []});
        assert_eq!(why(&machine(&status)).as_deref(), Some("no such type"));
    }
}
