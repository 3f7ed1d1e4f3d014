//! MachineSets as OpenShift's installer makes them on AWS: the same fields, and so about the same size.

use std::collections::HashMap;

use anyhow::{Context, Result};
use machinist_api::names;
use machinist_api::resource::{EVENTS, MACHINE_SETS};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::raw::{Bare, Outgoing};

/// Creating is no part of any measurement; this is fast enough and does not drown the API server.
const CONCURRENCY: usize = 16;
const TYPES: &[&str] =
    &["m6i.xlarge", "m5.2xlarge", "c6i.4xlarge", "r6i.large", "m6g.xlarge", "g4dn.xlarge"];

const ANNOTATIONS: [&str; 4] = [
    names::ANNOTATION_VCPU,
    names::ANNOTATION_MEMORY,
    names::ANNOTATION_GPU,
    names::ANNOTATION_CAPACITY_LABELS,
];

/// An object as it was created or found.
#[derive(Debug, Deserialize)]
pub(crate) struct Member {
    pub(crate) metadata: Metadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    #[serde(default)]
    pub(crate) annotations: HashMap<String, String>,
}

impl Member {
    pub(crate) fn is_annotated(&self) -> bool {
        ANNOTATIONS.iter().all(|name| self.metadata.annotations.contains_key(*name))
    }
}

/// Creates `count` MachineSets, the same in every namespace, and returns them by name.
pub(crate) async fn create(
    setup: &Bare,
    namespace: &str,
    count: usize,
) -> Result<HashMap<String, Member>> {
    let path = MACHINE_SETS.collection_path(Some(namespace));
    let requests =
        (0..count).map(|number| Outgoing::create(path.clone(), &machine_set(number))).collect();
    let answers = setup.send_all(requests, CONCURRENCY).await?;
    let members = answers.iter().map(|answer| {
        let member: Member = serde_json::from_slice(answer).context("not a MachineSet")?;
        Ok((member.metadata.name.clone(), member))
    });
    members.collect()
}

/// The MachineSets of a namespace, by name.
pub(crate) async fn list(setup: &Bare, namespace: &str) -> Result<HashMap<String, Member>> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Member>,
    }
    let path = MACHINE_SETS.collection_path(Some(namespace));
    let answer = setup.send(Outgoing::get(path)).await?;
    let list: List = serde_json::from_slice(&answer).context("not a list of MachineSets")?;
    let named = list.items.into_iter();
    Ok(named.map(|member| (member.metadata.name.clone(), member)).collect())
}

/// The Events of a namespace, by name, as they are.
pub(crate) async fn events(setup: &Bare, namespace: &str) -> Result<HashMap<String, Value>> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Value>,
    }
    let path = EVENTS.collection_path(Some(namespace));
    let answer = setup.send(Outgoing::get(path)).await?;
    let list: List = serde_json::from_slice(&answer).context("not a list of Events")?;
    let name = |event: &Value| event["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Ok(list.items.into_iter().map(|event| (name(&event), event)).collect())
}

/// Deletes MachineSets and Events, so that every measurement finds the API server with equally much to hold.
pub(crate) async fn delete(setup: &Bare, namespace: &str) -> Result<()> {
    for resource in [MACHINE_SETS, EVENTS] {
        let path = resource.collection_path(Some(namespace));
        setup.send(Outgoing::delete(path)).await?;
    }
    Ok(())
}

fn machine_set(number: usize) -> Value {
    let cluster = "prod-eu-x7k2p";
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
                    "providerSpec": {"value": provider_spec(cluster, &zone, TYPES[number % TYPES.len()])},
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
        "credentialsSecret": {"name": "aws-cloud-credentials"},
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
    use super::*;

    #[test]
    fn provider_specs_are_as_large_as_real_ones() {
        for instance_type in TYPES {
            let size =
                provider_spec("prod-eu-x7k2p", "eu-west-1a", instance_type).to_string().len();
            assert!((1000..1500).contains(&size), "{size} bytes");
        }
    }
}
