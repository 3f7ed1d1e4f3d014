//! Sample MachineSets of different shapes, and what each should say in the end.

use machinist_api::machine_set::MachineSet;
use serde_json::json;

use super::view::Row;

/// A sample to edit.
pub(super) const FIRST: &str = "workers";

/// Name, instance type, and what vCPU, memory, GPU and architecture shall be; `None` where nothing is known of the type.
const SAMPLES: &[(&str, &str, Option<[&str; 4]>)] = &[
    (FIRST, "m6i.xlarge", Some(["4", "16384", "0", "amd64"])),
    ("graviton", "m7g.large", Some(["2", "8192", "0", "arm64"])),
    ("training", "p4d.24xlarge", Some(["96", "1179648", "8", "amd64"])),
    ("from-the-future", "m99.mega", None),
];

pub(super) fn machine_sets() -> anyhow::Result<Vec<MachineSet>> {
    let sets = SAMPLES.iter().map(|(name, instance_type, _)| {
        let labels = json!({"machine.openshift.io/cluster-api-machineset": name});
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": {"name": name},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"providerSpec": {"value": {
                        "apiVersion": "machine.openshift.io/v1beta1",
                        "kind": "AWSMachineProviderConfig",
                        "instanceType": instance_type,
                        "placement": {"region": "eu-west-1", "availabilityZone": "eu-west-1a"},
                    }}},
                },
            },
        }))
    });
    Ok(sets.collect::<Result<_, _>>()?)
}

pub(super) fn is_as_expected(row: &Row) -> bool {
    let Some((_, instance_type, expected)) = SAMPLES.iter().find(|(name, ..)| *name == row.name)
    else {
        return false;
    };
    let said = [&row.vcpu, &row.memory, &row.gpu, &row.architecture];
    row.instance_type == *instance_type
        && match expected {
            None => said.iter().all(|value| value.is_empty()) && row.note.contains(instance_type),
            Some(values) => said.iter().zip(values).all(|(said, value)| *said == value),
        }
}
