//! Two tables with one row per MachineSet: its capacity annotations, and its labels or last Event. Pure.
//!
//! Messages are cut, so that a row fits in 100 columns.

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use k8s_openapi::api::events::v1::Event;
use machinist_api::machine_set::MachineSet;
use machinist_api::names;

const NOTE_WIDTH: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) instance_type: String,
    pub(super) vcpu: String,
    pub(super) memory: String,
    pub(super) gpu: String,
    pub(super) architecture: String,
    pub(super) upstream: Upstream,
    pub(super) labels: String,
    pub(super) reason: String,
    pub(super) note: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Upstream {
    pub(super) cpu: String,
    pub(super) memory: String,
    pub(super) gpus: String,
}

impl Row {
    pub(super) fn of(set: &MachineSet, events: &[Event]) -> Self {
        let annotations = set.metadata.annotations.as_ref();
        let annotation =
            |name: &str| annotations.and_then(|all| all.get(name)).cloned().unwrap_or_default();
        let spec = set.spec.provider_spec();
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
            upstream: Upstream {
                cpu: annotation(names::ANNOTATION_CAPACITY_CPU),
                memory: annotation(names::ANNOTATION_CAPACITY_MEMORY),
                gpus: gpus.map(annotation).join(" ").trim().to_owned(),
            },
            labels: short.collect::<Vec<_>>().join(" "),
            reason: news.and_then(|event| event.reason.clone()).unwrap_or_default(),
            note: news.and_then(|event| event.note.clone()).unwrap_or_default(),
        }
    }
}

fn is_warning(event: &Event) -> bool {
    event.type_.as_deref() == Some("Warning")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= NOTE_WIDTH {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(NOTE_WIDTH - 1).collect();
    short.push('…');
    short
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut values = Table::new();
    values.load_style(NOTHING);
    let names = ["MACHINESET", "INSTANCE TYPE", "VCPU", "MEMORYMB", "GPU", "CPU", "MEMORY", "GPUS"];
    values.set_header(names);
    let mut rest = Table::new();
    rest.load_style(NOTHING);
    rest.set_header(["MACHINESET", "LABELS, OR LAST EVENT"]);
    for row in rows {
        let Upstream { cpu, memory, gpus } = &row.upstream;
        let cells = [&row.instance_type, &row.vcpu, &row.memory, &row.gpu, cpu, memory, gpus];
        values.add_row([row.name.clone()].into_iter().chain(cells.map(|cell| shown(cell))));
        let words = if row.labels.is_empty() { &row.note } else { &row.labels };
        rest.add_row([row.name.clone(), shown(&cut(words))]);
    }
    format!("{}\n\n{}", values.trim_fmt(), rest.trim_fmt())
}

fn shown(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
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
            upstream: Upstream::default(),
            labels: String::new(),
            reason: "FailedUpdate".to_owned(),
            note: note.to_owned(),
        }
    }

    #[test]
    fn a_row_without_values_shows_dashes_and_the_event() {
        let table = table(&[row("it is unknown")]);
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
        let table = table(&[Row::of(&set, &[])]);
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
        let table = table(&[row(&"ä".repeat(81)), row(&"b".repeat(80))]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 7, "{table}");
        assert!(lines[5].ends_with(&format!(" {}…", "ä".repeat(79))), "{table}");
        assert!(lines[6].ends_with(&format!(" {}", "b".repeat(80))), "{table}");
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
