//! The table of machines. Pure.

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use jiff::Timestamp;
use kube::ResourceExt as _;
use machinist_api::machine::Machine;

const REASON_WIDTH: usize = 50;

const AGE: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    name: String,
    phase: String,
    node: String,
    age: String,
    why: String,
}

pub(super) fn is_running(machine: &Machine) -> bool {
    phase(machine) == "Running" && machine.metadata.deletion_timestamp.is_none()
}

fn phase(machine: &Machine) -> &str {
    machine.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

impl Row {
    pub(super) fn of(machine: &Machine, now: Timestamp) -> Self {
        let status = machine.status.as_ref();
        let node = status.and_then(|status| status.node_ref.as_ref());
        let created = machine.creation_timestamp().map(|time| time.0);
        let seconds = created.map_or(0, |created| now.duration_since(created).as_secs().max(0));
        Self {
            name: machine.name_any(),
            phase: phase(machine).to_owned(),
            node: node.and_then(|node| node.name.clone()).unwrap_or_default(),
            age: if seconds < 120 { format!("{seconds}s") } else { format!("{}m", seconds / 60) },
            why: why(machine).unwrap_or_default(),
        }
    }
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

/// Ages change every second. Without a terminal, where every change is printed, they are left out.
pub(super) fn table(rows: &[Row], with_ages: bool) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let ages = |cells: [String; 5]| {
        let shown = |at: &usize| with_ages || *at != AGE;
        cells.into_iter().enumerate().filter(move |(at, _)| shown(at)).map(|(_, cell)| cell)
    };
    table.set_header(ages(["MACHINE", "PHASE", "NODE", "AGE", "WHY NOT READY"].map(str::to_owned)));
    for row in rows {
        let cells = [&row.name, &row.phase, &row.node, &row.age, &cut(&row.why)];
        let cell = |cell: &String| if cell.is_empty() { "-".to_owned() } else { cell.clone() };
        table.add_row(ages(cells.map(cell)));
    }
    table.trim_fmt()
}

fn cut(text: &str) -> String {
    if text.chars().count() <= REASON_WIDTH {
        return text.to_owned();
    }
    let short: String = text.chars().take(REASON_WIDTH - 1).collect();
    format!("{short}…")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(status: &serde_json::Value) -> Row {
        let machine: Machine = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {},
            "status": status,
        }))
        .unwrap();
        Row::of(&machine, "2026-01-01T00:01:30Z".parse().unwrap())
    }

    #[test]
    fn a_running_machine_has_no_reason() {
        let row = row(&json!({"phase": "Running", "nodeRef": {"name": "n"}, "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}));
        assert_eq!([&*row.phase, &row.node, &row.age, &row.why], ["Running", "n", "90s", ""]);
    }

    #[test]
    fn the_false_condition_is_shown_and_cut() {
        let row = row(&json!({"phase": "Provisioning", "conditions": [
            {"type": "Ready", "status": "False", "reason": "CapacityExhausted",
             "message": "no room ".repeat(20), "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}));
        assert!(!table(std::slice::from_ref(&row), false).contains("AGE"));
        let table = table(&[row], true);
        assert!(table.contains("CapacityExhausted: no room"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    }

    #[test]
    fn a_permanent_error_takes_precedence() {
        let row =
            row(&json!({"phase": "Failed", "errorMessage": "no such type", "conditions": []}));
        assert_eq!(row.why, "no such type");
    }
}
