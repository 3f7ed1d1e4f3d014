//! MachineSets with the fields, and so about the size, that OpenShift's installer gives them on AWS; 40 types in three
//! zones, as in a large cluster.

use machinist_api::resource::MACHINE_SETS;
use serde_json::{Value, json};

pub(super) const SECRET: &str = "aws-cloud-credentials";

const CLUSTER: &str = "prod-eu-x7k2p";
const FAMILIES: [&str; 8] = ["m6i", "m5", "c6i", "r6i", "m6g", "c7g", "g4dn", "g5"];
const SIZES: [&str; 5] = ["xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge"];
const TYPES: usize = FAMILIES.len() * SIZES.len();

/// Each namespace gets all types.
pub(super) fn namespace(number: usize, namespaces: usize) -> usize {
    number / TYPES % namespaces
}

fn instance_type(number: usize) -> String {
    let size = SIZES[number / FAMILIES.len() % SIZES.len()];
    format!("{}.{size}", FAMILIES[number % FAMILIES.len()])
}

pub(super) fn machine_set(number: usize) -> Value {
    let cluster = CLUSTER;
    let zone = format!("eu-west-1{}", ["a", "b", "c"][number % 3]);
    let name = format!("{cluster}-worker-{zone}-{number:04}");
    let labels = json!({
        "machine.openshift.io/cluster-api-cluster": cluster,
        "machine.openshift.io/cluster-api-machineset": name,
    });
    json!({
        "apiVersion": MACHINE_SETS.api_version(),
        "kind": MACHINE_SETS.kind,
        "metadata": {
            "name": name,
            "labels": {"machine.openshift.io/cluster-api-cluster": cluster},
        },
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": {
                    "machine.openshift.io/cluster-api-cluster": cluster,
                    "machine.openshift.io/cluster-api-machine-role": "worker",
                    "machine.openshift.io/cluster-api-machine-type": "worker",
                    "machine.openshift.io/cluster-api-machineset": name,
                }},
                "spec": {
                    "lifecycleHooks": {},
                    "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
                    "providerSpec": {"value": provider_spec(cluster, &zone, &instance_type(number))},
                },
            },
        },
    })
}

fn provider_spec(cluster: &str, zone: &str, instance_type: &str) -> Value {
    let by_name = |name: String| json!({"filters": [{"name": "tag:Name", "values": [name]}]});
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderConfig",
        "metadata": {"creationTimestamp": null},
        "ami": {"id": "ami-0d0c1f4ab0a2e8f11"},
        "blockDevices": [{"ebs": {
            "encrypted": true,
            "iops": 0,
            "kmsKey": {"arn": "arn:aws:kms:eu-west-1:123456789012:key/1f2e3d4c-5b6a-7988-9a0b-c1d2e3f4a5b6"},
            "volumeSize": 120,
            "volumeType": "gp3",
        }}],
        "capacityReservationId": "",
        "credentialsSecret": {"name": SECRET},
        "deviceIndex": 0,
        "iamInstanceProfile": {"id": format!("{cluster}-worker-profile")},
        "instanceType": instance_type,
        "metadataServiceOptions": {"authentication": "Required"},
        "networkInterfaceType": "",
        "placement": {"availabilityZone": zone, "region": "eu-west-1", "tenancy": "default"},
        "publicIp": false,
        "securityGroups": [
            by_name(format!("{cluster}-node")),
            by_name(format!("{cluster}-lb")),
        ],
        "subnet": by_name(format!("{cluster}-subnet-private-{zone}")),
        "tags": [
            {"name": format!("kubernetes.io/cluster/{cluster}"), "value": "owned"},
            {"name": "cost-centre", "value": "platform-4711"},
        ],
        "userDataSecret": {"name": "worker-user-data"},
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn provider_specs_are_as_large_as_real_ones() {
        for number in 0..TYPES {
            let size =
                provider_spec(CLUSTER, "eu-west-1a", &instance_type(number)).to_string().len();
            assert!((1000..1500).contains(&size), "{size} bytes");
        }
    }

    #[test]
    fn every_namespace_gets_all_types() {
        for wanted in 0..2 {
            let types = (0..1000).filter(|n| namespace(*n, 2) == wanted).map(instance_type);
            assert_eq!(types.collect::<BTreeSet<_>>().len(), TYPES);
        }
    }
}
