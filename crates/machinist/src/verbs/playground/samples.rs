//! Sample MachineSets and the expected result for each.

use machinist_api::machine_set::MachineSet;
use machinist_domain::report::EventReason;
use serde_json::json;

use self::Expected::{Values, Warning};
use super::view::Row;

pub(super) const FIRST: &str = "workers";

enum Expected {
    Values([&'static str; 4]),
    Warning(EventReason),
}

const SAMPLES: &[(&str, Option<&str>, Expected)] = &[
    (FIRST, Some("m6i.xlarge"), Values(["4", "16384", "0", "amd64"])),
    ("graviton", Some("m7g.large"), Values(["2", "8192", "0", "arm64"])),
    ("training", Some("p4d.24xlarge"), Values(["96", "1179648", "8", "amd64"])),
    ("from-the-future", Some("m99.mega"), Warning(EventReason::FailedUpdate)),
    ("half-written", None, Warning(EventReason::ReconcileError)),
];

pub(super) fn machine_sets() -> anyhow::Result<Vec<MachineSet>> {
    let sets = SAMPLES.iter().map(|(name, instance_type, _)| {
        let labels = json!({"machine.openshift.io/cluster-api-machineset": name});
        let mut provider_spec = json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "AWSMachineProviderConfig",
            "placement": {"region": "eu-west-1", "availabilityZone": "eu-west-1a"},
        });
        if let Some(instance_type) = instance_type {
            provider_spec["instanceType"] = json!(instance_type);
        }
        serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": {"name": name},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"providerSpec": {"value": provider_spec}},
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
    let shown = [&row.vcpu, &row.memory, &row.gpu, &row.architecture];
    row.instance_type == instance_type.unwrap_or_default()
        && match expected {
            Values(values) => shown.iter().zip(values).all(|(shown, value)| *shown == value),
            Warning(reason) => {
                shown.iter().all(|value| value.is_empty()) && row.reason == reason.as_str()
            }
        }
}
