//! The table: one row per MachineSet. Pure: from objects to text.
//!
//! What an Event says is cut, so that a row is one line on a terminal of usual width (120 columns).

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use k8s_openapi::api::events::v1::Event;
use machinist_api::machine_set::MachineSet;
use machinist_api::names;

/// How much of an Event is shown. `kubectl describe` has the rest.
const NOTE_WIDTH: usize = 60;

/// What the table shows of a MachineSet; empty where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) instance_type: String,
    pub(super) vcpu: String,
    pub(super) memory: String,
    pub(super) gpu: String,
    pub(super) architecture: String,
    /// Of the newest Warning about it, or, without one, of the newest Event.
    pub(super) reason: String,
    /// What it says.
    pub(super) note: String,
}

impl Row {
    pub(super) fn of(set: &MachineSet, events: &[Event]) -> Self {
        let annotations = set.metadata.annotations.as_ref();
        let annotation =
            |name: &str| annotations.and_then(|all| all.get(name)).cloned().unwrap_or_default();
        let spec = set.spec.provider_spec();
        let labels = annotation(names::ANNOTATION_CAPACITY_LABELS);
        let architecture = labels
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == names::LABEL_ARCH);
        let about = |event: &&Event| {
            let uid = event.regarding.as_ref().and_then(|object| object.uid.as_ref());
            uid.is_some() && uid == set.metadata.uid.as_ref()
        };
        let weight = |event: &&Event| (is_warning(event), event.event_time.clone());
        let news = events.iter().filter(about).max_by_key(weight);
        Self {
            name: set.metadata.name.clone().unwrap_or_default(),
            instance_type: spec
                .and_then(|spec| spec["instanceType"].as_str())
                .unwrap_or_default()
                .to_owned(),
            vcpu: annotation(names::ANNOTATION_VCPU),
            memory: annotation(names::ANNOTATION_MEMORY),
            gpu: annotation(names::ANNOTATION_GPU),
            architecture: architecture.map(|(_, value)| value.to_owned()).unwrap_or_default(),
            reason: news.and_then(|event| event.reason.clone()).unwrap_or_default(),
            note: news.and_then(|event| event.note.clone()).unwrap_or_default(),
        }
    }
}

fn is_warning(event: &Event) -> bool {
    event.type_.as_deref() == Some("Warning")
}

/// The beginning of a text that is too long, with a mark.
fn cut(text: &str) -> String {
    if text.chars().count() <= NOTE_WIDTH {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(NOTE_WIDTH - 1).collect();
    short.push('…');
    short
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["MACHINESET", "INSTANCE TYPE", "VCPU", "MEMORY MIB", "GPU", "ARCH", "EVENT"]);
    for row in rows {
        let shown = |text: &String| {
            if text.is_empty() { "-".to_owned() } else { text.clone() }
        };
        table.add_row([
            row.name.clone(),
            shown(&row.instance_type),
            shown(&row.vcpu),
            shown(&row.memory),
            shown(&row.gpu),
            shown(&row.architecture),
            shown(&cut(&row.note)),
        ]);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(note: &str) -> Row {
        Row {
            name: "a".to_owned(),
            instance_type: "m99.mega".to_owned(),
            vcpu: String::new(),
            memory: String::new(),
            gpu: String::new(),
            architecture: String::new(),
            reason: "FailedUpdate".to_owned(),
            note: note.to_owned(),
        }
    }

    #[test]
    fn a_row_that_says_nothing_shows_dashes() {
        let table = table(&[row("it is unknown")]);
        let line = table.lines().nth(1).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words, ["a", "m99.mega", "-", "-", "-", "-", "it", "is", "unknown"]);
    }

    #[test]
    fn a_row_is_one_line_however_much_an_event_says() {
        let table = table(&[row(&"ä".repeat(61)), row(&"b".repeat(60))]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        assert!(lines[1].ends_with(&format!(" {}…", "ä".repeat(59))), "{table}");
        assert!(lines[2].ends_with(&format!(" {}", "b".repeat(60))), "{table}");
    }

    #[test]
    fn the_newest_warning_is_shown_before_anything_that_is_normal() {
        let set: MachineSet = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": {"name": "a", "uid": "1"},
            "spec": {"selector": {}, "template": {}},
        }))
        .unwrap();
        let event = |kind: &str, reason: &str, second: u32, uid: &str| -> Event {
            serde_json::from_value(json!({
                "metadata": {}, "type": kind, "reason": reason, "regarding": {"uid": uid},
                "eventTime": format!("2026-01-01T00:00:0{second}.000000Z"),
            }))
            .unwrap()
        };
        let events = [
            event("Warning", "Second", 2, "1"),
            event("Warning", "First", 1, "1"),
            event("Normal", "Third", 3, "1"),
            event("Warning", "OfAnother", 4, "2"),
        ];
        assert_eq!(Row::of(&set, &events).reason, "Second");
        assert_eq!(Row::of(&set, &events[2..]).reason, "Third");
    }
}
