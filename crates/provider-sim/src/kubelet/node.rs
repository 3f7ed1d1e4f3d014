//! The Node of an instance, as data.

use k8s_openapi::api::core::v1::Node;
use machinist_api::names::{
    LABEL_ARCH, LABEL_INSTANCE_TYPE, LABEL_REGION, LABEL_ZONE, NODE_CONDITION_READY,
};
use machinist_domain::conditions::whole_seconds;
use machinist_domain::shape::Capacity;
use serde_json::{Value, json};

use crate::wire::Instance;
use crate::{messages, types};

const KWOK: (&str, &str) = ("kwok.x-k8s.io/node", "fake");
const PODS: u32 = 250;

/// With status: a kubelet registers with both in one request.
pub(super) fn node(
    instance: &Instance,
    kwok: bool,
    now: jiff::Timestamp,
) -> Result<Node, serde_json::Error> {
    let capacity = types::capacity(&instance.instance_type);
    let resources = capacity.as_ref().map(resources).unwrap_or_default();
    let architecture = capacity.map_or("amd64", |capacity| capacity.architecture.as_str());
    let annotations = if kwok { json!({ KWOK.0: KWOK.1 }) } else { json!({}) };
    serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": instance.id,
            "annotations": annotations,
            "labels": {
                "kubernetes.io/hostname": instance.id,
                "kubernetes.io/os": "linux",
                LABEL_ARCH: architecture,
                LABEL_INSTANCE_TYPE: instance.instance_type,
                LABEL_REGION: instance.region,
                LABEL_ZONE: instance.zone,
            },
        },
        "spec": { "providerID": instance.provider_id() },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [
                { "type": "InternalIP", "address": instance.address },
                { "type": "Hostname", "address": instance.id },
            ],
            "conditions": [ready(now)],
            "nodeInfo": {
                "architecture": architecture,
                "operatingSystem": "linux",
                "kubeletVersion": concat!("sim-", env!("CARGO_PKG_VERSION")),
                "machineID": instance.id,
                "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
                "kubeProxyVersion": "", "osImage": "", "systemUUID": "",
            },
        },
    }))
}

fn resources(capacity: &Capacity) -> Value {
    let mut resources = json!({
        "cpu": capacity.vcpus.to_string(),
        "memory": format!("{}Mi", capacity.memory_mib),
        "pods": PODS.to_string(),
        "ephemeral-storage": "20Gi",
    });
    if let Some(vendor) = capacity.gpu_vendor {
        resources[vendor.resource_name()] = json!(capacity.gpus.to_string());
    }
    resources
}

pub(super) fn ready(now: jiff::Timestamp) -> Value {
    json!({
        "type": NODE_CONDITION_READY, "status": "True", "reason": "KubeletReady",
        "message": messages::NODE_READY,
        "lastHeartbeatTime": whole_seconds(now), "lastTransitionTime": whole_seconds(now),
    })
}

/// Only the heartbeat changes.
pub(super) fn heartbeat(now: jiff::Timestamp) -> Value {
    json!({ "type": NODE_CONDITION_READY, "lastHeartbeatTime": whole_seconds(now) })
}

/// As the node lifecycle controller sets it in a real cluster.
pub(super) fn silent(now: jiff::Timestamp) -> Value {
    json!({
        "type": NODE_CONDITION_READY, "status": "Unknown", "reason": "NodeStatusUnknown",
        "message": messages::NODE_SILENT, "lastTransitionTime": whole_seconds(now),
    })
}

pub(super) fn patch(condition: &Value) -> Value {
    json!({ "status": { "conditions": [condition] } })
}

/// Releases the Node from kwok, which would keep it ready.
pub(super) fn without_kwok() -> Value {
    json!({ "metadata": { "annotations": { KWOK.0: null } } })
}
