//! Two tables with one row per MachineSet. Pure. Messages are cut, so that a row fits in 100 columns.

use k8s_openapi::api::events::v1::Event;
use machinist_api::machine_set::MachineSet;
use machinist_api::names;

use crate::terminal::escape;

const NOTE_WIDTH: usize = 80;

#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) instance_type: String,
    pub(super) vcpu: String,
    pub(super) memory: String,
    pub(super) gpu: String,
    pub(super) architecture: String,
    /// CPU, memory and GPUs in the annotations of upstream.
    upstream: [String; 3],
    labels: String,
    pub(super) reason: String,
    pub(super) is_warning: bool,
    note: String,
    /// It is of a former template of a MachineDeployment, or of one with 0 replicas.
    pub(super) is_unused: bool,
}

impl Row {
    pub(super) fn of(set: &MachineSet, events: &[Event]) -> Self {
        let annotations = set.metadata.annotations.as_ref();
        let annotation =
            |name: &str| annotations.and_then(|all| all.get(name)).cloned().unwrap_or_default();
        let spec = set.spec.provider_spec();
        let instance_type = spec.and_then(|spec| spec["instanceType"].as_str());
        let labels = annotation(names::ANNOTATION_CAPACITY_LABELS);
        let pairs = || labels.split(',').filter_map(|pair| pair.split_once('='));
        let architecture = pairs().find(|(key, _)| *key == names::LABEL_ARCH);
        let short = pairs().map(|(key, value)| {
            let (_, name) = key.rsplit_once('/').unwrap_or(("", key));
            format!("{name}={value}")
        });
        let gpus = [names::ANNOTATION_CAPACITY_GPU_COUNT, names::ANNOTATION_CAPACITY_GPU_TYPE];
        let about = |event: &&Event| {
            let uid = event.regarding.as_ref().and_then(|object| object.uid.as_ref());
            uid.is_some() && uid == set.metadata.uid.as_ref()
        };
        let weight =
            |event: &&Event| (event.type_.as_deref() == Some("Warning"), event.event_time.clone());
        let news = events.iter().filter(about).max_by_key(weight);
        let mut owners = set.metadata.owner_references.iter().flatten();
        Self {
            is_unused: set.spec.replicas == Some(0)
                && owners.any(|owner| owner.kind == "MachineDeployment"),
            name: set.metadata.name.clone().unwrap_or_default(),
            instance_type: instance_type.unwrap_or_default().to_owned(),
            vcpu: annotation(names::ANNOTATION_VCPU),
            memory: annotation(names::ANNOTATION_MEMORY),
            gpu: annotation(names::ANNOTATION_GPU),
            architecture: architecture.map(|(_, value)| value.to_owned()).unwrap_or_default(),
            upstream: [
                annotation(names::ANNOTATION_CAPACITY_CPU),
                annotation(names::ANNOTATION_CAPACITY_MEMORY),
                gpus.map(annotation).join(" ").trim().to_owned(),
            ],
            labels: short.collect::<Vec<_>>().join(" "),
            reason: news.and_then(|event| event.reason.clone()).unwrap_or_default(),
            is_warning: news.is_some_and(|event| event.type_.as_deref() == Some("Warning")),
            note: news.and_then(|event| event.note.clone()).unwrap_or_default(),
        }
    }

    /// Its labels, or its last Event.
    pub(super) fn words(&self) -> &str {
        if self.labels.is_empty() { &self.note } else { &self.labels }
    }
}

pub(super) fn tables(rows: &[Row]) -> String {
    let values = rows.iter().map(|row| {
        let [cpu, memory, gpus] = &row.upstream;
        [&row.name, &row.instance_type, &row.vcpu, &row.memory, &row.gpu, cpu, memory, gpus]
            .map(String::clone)
            .to_vec()
    });
    let rest = rows.iter().map(|row| vec![row.name.clone(), cut(row.words(), NOTE_WIDTH)]);
    let headings =
        ["MACHINESET", "INSTANCE TYPE", "VCPU", "MEMORYMB", "GPU", "CPU", "MEMORY", "GPUS"];
    let values = table(&headings, values.collect());
    format!("{values}\n\n{}", table(&["MACHINESET", "LABELS, OR LAST EVENT"], rest.collect()))
}

/// A table with a dash in each empty cell.
pub(super) fn table(headings: &[&str], mut rows: Vec<Vec<String>>) -> String {
    for cell in rows.iter_mut().flatten().filter(|cell| cell.is_empty()) {
        cell.push('-');
    }
    crate::verbs::table::table(headings, rows).trim_end().to_owned()
}

pub(super) fn cut(text: &str, width: usize) -> String {
    let text = escape(text);
    if text.chars().count() <= width {
        return text.into_owned();
    }
    let short: String = text.chars().take(width - 1).collect();
    format!("{short}…")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::terminal::tests::HOSTILE;

    fn row(note: &str) -> Row {
        Row {
            name: "a".to_owned(),
            instance_type: "m99.mega".to_owned(),
            vcpu: String::new(),
            memory: String::new(),
            gpu: String::new(),
            architecture: String::new(),
            upstream: Default::default(),
            labels: String::new(),
            reason: "FailedUpdate".to_owned(),
            is_warning: true,
            note: note.to_owned(),
            is_unused: false,
        }
    }

    #[test]
    fn a_row_without_values_shows_dashes_and_the_event() {
        let table = tables(&[row("it is unknown")]);
        let words = |line: usize| table.lines().nth(line).unwrap().split_whitespace();
        assert_eq!(words(1).collect::<Vec<_>>(), ["a", "m99.mega", "-", "-", "-", "-", "-", "-"]);
        assert_eq!(words(4).collect::<Vec<_>>(), ["a", "it", "is", "unknown"]);
    }

    #[test]
    fn both_families_are_shown_on_lines_that_fit() {
        let set: MachineSet = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": {"name": "from-the-future", "annotations": {
                names::ANNOTATION_VCPU: "96",
                names::ANNOTATION_MEMORY: "1179648",
                names::ANNOTATION_GPU: "8",
                names::ANNOTATION_CAPACITY_CPU: "96",
                names::ANNOTATION_CAPACITY_MEMORY: "1179648Mi",
                names::ANNOTATION_CAPACITY_GPU_COUNT: "8",
                names::ANNOTATION_CAPACITY_GPU_TYPE: "nvidia.com/gpu",
                names::ANNOTATION_CAPACITY_LABELS: "kubernetes.io/arch=amd64,\
                    node.kubernetes.io/instance-type=p4d.24xlarge,\
                    topology.kubernetes.io/region=eu-west-1,topology.kubernetes.io/zone=eu-west-1a",
            }},
            "spec": {"selector": {}, "template": {"spec": {"providerSpec": {"value": {
                "instanceType": "p4d.24xlarge",
            }}}}},
        }))
        .unwrap();
        let table = tables(&[Row::of(&set, &[])]);
        assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 5, "{table}");
        for value in ["96", "1179648", "8", "1179648Mi", "8 nvidia.com/gpu"] {
            assert!(lines[1].contains(value), "{value}: {table}");
        }
        let labels = "arch=amd64 instance-type=p4d.24xlarge region=eu-west-1 zone=eu-west-1a";
        assert!(lines[4].ends_with(labels), "{table}");
    }

    #[test]
    fn long_messages_are_cut_to_one_line() {
        let table = tables(&[row(&"ä".repeat(81)), row(&"b".repeat(80))]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 7, "{table}");
        assert!(lines[5].ends_with(&format!(" {}…", "ä".repeat(79))), "{table}");
        assert!(lines[6].ends_with(&format!(" {}", "b".repeat(80))), "{table}");
    }

    #[test]
    fn what_an_event_says_does_not_control_the_terminal() {
        let table = tables(&[row(HOSTILE)]);
        assert_eq!(table.lines().count(), 5, "{table:?}");
        assert!(
            !table.lines().any(|line| line.contains(crate::terminal::controls_terminal)),
            "{table:?}"
        );
    }

    #[test]
    fn the_newest_warning_takes_precedence() {
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
