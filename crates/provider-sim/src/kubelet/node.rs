//! The Node of an instance, as data.

use k8s_openapi::api::core::v1::Node;
use machinist_api::names::{
    LABEL_ARCH, LABEL_INSTANCE_TYPE, LABEL_REGION, LABEL_ZONE, NODE_CONDITION_READY,
};
use machinist_domain::shape::Capacity;
use serde_json::{Map, Value, json};

use crate::types;
use crate::wire::Instance;

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

fn resources(capacity: &Capacity) -> Map<String, Value> {
    let mut resources = Map::new();
    let mut set = |name: &str, value: String| resources.insert(name.to_owned(), value.into());
    set("cpu", capacity.vcpus.to_string());
    set("memory", format!("{}Mi", capacity.memory_mib));
    set("pods", PODS.to_string());
    set("ephemeral-storage", "20Gi".to_owned());
    if let Some(vendor) = capacity.gpu_vendor {
        set(vendor.resource_name(), capacity.gpus.to_string());
    }
    resources
}

pub(super) fn ready(now: jiff::Timestamp) -> Value {
    json!({
        "type": NODE_CONDITION_READY, "status": "True", "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": time(now), "lastTransitionTime": time(now),
    })
}

/// Only the heartbeat changes.
pub(super) fn heartbeat(now: jiff::Timestamp) -> Value {
    json!({ "type": NODE_CONDITION_READY, "lastHeartbeatTime": time(now) })
}

/// As the node lifecycle controller sets it in a real cluster.
pub(super) fn silent(now: jiff::Timestamp) -> Value {
    json!({
        "type": NODE_CONDITION_READY, "status": "Unknown", "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.", "lastTransitionTime": time(now),
    })
}

pub(super) fn patch(condition: &Value) -> Value {
    json!({ "status": { "conditions": [condition] } })
}

/// Releases the Node from kwok, which would keep it ready.
pub(super) fn without_kwok() -> Value {
    json!({ "metadata": { "annotations": { KWOK.0: null } } })
}

/// Kubernetes timestamps have whole seconds.
fn time(now: jiff::Timestamp) -> String {
    let whole = jiff::Timestamp::from_second(now.as_second()).unwrap_or(now);
    whole.to_string()
}
