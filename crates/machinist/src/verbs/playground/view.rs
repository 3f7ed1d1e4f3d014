//! The table: one row per MachineSet. Pure: from objects to text.

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use k8s_openapi::api::events::v1::Event;
use machinist_api::machine_set::MachineSet;
use machinist_api::names;

/// What the table shows of a MachineSet; empty where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) instance_type: String,
    pub(super) vcpu: String,
    pub(super) memory: String,
    pub(super) gpu: String,
    pub(super) architecture: String,
    /// The newest Event about it.
    pub(super) note: String,
}

impl Row {
    pub(super) fn of(set: &MachineSet, events: &[Event]) -> Self {
        let annotations = set.metadata.annotations.as_ref();
        let annotation =
            |name: &str| annotations.and_then(|all| all.get(name)).cloned().unwrap_or_default();
        let spec = set.spec.template.spec.provider_spec.value.as_ref();
        let labels = annotation(names::ANNOTATION_CAPACITY_LABELS);
        let architecture = labels
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == names::LABEL_ARCH);
        let about = |event: &&Event| {
            let uid = event.regarding.as_ref().and_then(|object| object.uid.as_ref());
            uid.is_some() && uid == set.metadata.uid.as_ref()
        };
        let newest = events.iter().filter(about).max_by_key(|event| event.event_time.clone());
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
            note: newest.and_then(|event| event.note.clone()).unwrap_or_default(),
        }
    }
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header([
        "MACHINESET",
        "INSTANCE TYPE",
        "VCPU",
        "MEMORY MIB",
        "GPU",
        "ARCH",
        "NEWEST EVENT",
    ]);
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
            shown(&row.note),
        ]);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_says_nothing_shows_dashes() {
        let empty = Row {
            name: "a".to_owned(),
            instance_type: "m99.mega".to_owned(),
            vcpu: String::new(),
            memory: String::new(),
            gpu: String::new(),
            architecture: String::new(),
            note: "it is unknown".to_owned(),
        };
        let table = table(&[empty]);
        let line = table.lines().nth(1).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words, ["a", "m99.mega", "-", "-", "-", "-", "it", "is", "unknown"]);
    }
}
