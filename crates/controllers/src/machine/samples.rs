use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine_timings::{MachineLimits, MachineTimings};
use machinist_domain::observed::Observed;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_domain::shape::Shape;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::cloud::{
    Address, AddressKind, Instance, InstanceState, MachineRef, ProviderStatus,
};
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::Kind as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::error::Refusal;
use super::snapshot::{Rules, Snapshot, View};
use crate::drain::{self, Subject};
use crate::kinds::{Machine, Machines, Node, Nodes};
use crate::served::Field;

/// Reads a spec with a zone; everything else is invalid.
#[derive(Debug)]
pub(super) struct Zones;

impl SpecHalf for Zones {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        let spec: Value = serde_json::from_str(spec.get()).unwrap();
        let invalid = || SpecError::Invalid { reason: "zone is missing".to_owned() };
        Ok(Shape {
            instance_type: "t".into(),
            region: Some("r".into()),
            zone: Some(spec["zone"].as_str().ok_or_else(invalid)?.into()),
            root_disk_gib: None,
            credentials_secret: None,
        })
    }
}

/// A minute after the machines were created.
pub(super) fn now() -> Timestamp {
    "2026-06-01T12:01:00Z".parse().unwrap()
}

pub(crate) fn object(patch: &Value) -> Value {
    let mut machine = json!({
        "metadata": {
            "name": "m", "namespace": "ns", "uid": "uid-m", "resourceVersion": "1",
            "creationTimestamp": "2026-06-01T12:00:00Z",
            "labels": {"machine.openshift.io/cluster-api-cluster": "c"},
            "finalizers": ["machine.machine.openshift.io"],
        },
        "spec": {"providerSpec": {"value": {"zone": "z"}}},
        "status": {},
    });
    merge(&mut machine, patch);
    machine
}

pub(crate) fn read(object: &Value) -> Machine {
    let kind = Machines::new(Arc::new(Zones));
    kind.project(serde_json::from_str(&object.to_string()).unwrap())
}

/// The instance was not asked about, and nothing else is there.
pub(super) fn view_of(object: &Value) -> View {
    let machine = Arc::new(read(object));
    let timings = MachineTimings::default();
    let stored = ProviderStatus::read(machine.status.provider_status.as_deref());
    let rules = Rules {
        obey_migration: false,
        failure_fields: Field::Served,
        authority_field: Field::Served,
        timings,
        limits: MachineLimits::default(),
    };
    let mut view = View {
        reach: None,
        observed: Observed::NotAsked,
        refused_attempt: None,
        pause: None,
        node: None,
        drain: None,
        unrepaired: None,
        unmarked: None,
        rules,
        stored,
        machine,
    };
    let subject = Subject::of(&view.machine, None);
    let drains = view.machine.meta.deleting && !view.is_drained();
    view.drain = drains.then(|| Box::new(drain::View::new(subject, timings, HashMap::default())));
    if view.needs_cloud() {
        view.reach = Some(reach(&view));
    }
    view
}

pub(super) fn view(patch: &Value) -> View {
    view_of(&object(patch))
}

pub(super) fn snapshot(view: View) -> Snapshot {
    Snapshot { meta: view.machine.meta.clone(), view: Ok(Box::new(view)) }
}

fn reach(view: &View) -> Result<MachineRef, Refusal> {
    let machine = &view.machine;
    machine.shape()?;
    let spec = machine.provider_spec.as_ref().ok_or(SpecError::Missing)?;
    Ok(MachineRef {
        key: ObjectKey::new("ns", "m"),
        uid: Uid("uid-m".into()),
        attempt: view.attempt().unwrap_or(1),
        cluster: "c".into(),
        cluster_label: None,
        access: CloudAccess {
            region: "r".into(),
            credentials: Credentials::Ambient,
            endpoint: None,
            ca_bundle: None,
        },
        spec: Arc::clone(&spec.raw),
        provider_id: machine.provider_id.clone(),
        status: view.stored.clone(),
        created: machine.created,
    })
}

pub(super) fn launch(attempt: u32) -> ProviderStatus {
    ProviderStatus(json!({"launch": {"attempt": attempt}}).as_object().unwrap().clone())
}

pub(super) fn instance(state: InstanceState) -> Arc<Instance> {
    instance_of(1, state)
}

pub(super) fn instance_of(attempt: u32, state: InstanceState) -> Arc<Instance> {
    let text = match state {
        InstanceState::Pending => "pending",
        InstanceState::Running => "running",
        InstanceState::Stopped => "stopped",
        InstanceState::Terminating => "shutting-down",
        InstanceState::Terminated => "terminated",
    };
    let mut status = launch(attempt);
    status.0.insert("instanceState".to_owned(), text.into());
    let ended = matches!(state, InstanceState::Stopped | InstanceState::Terminated);
    Arc::new(Instance {
        id: format!("i-{attempt}").into(),
        provider_id: format!("p:///i-{attempt}").into(),
        state,
        state_text: text.into(),
        state_reason: ended.then(|| "user request".into()),
        addresses: vec![Address { kind: AddressKind::InternalIp, address: "10.0.0.1".into() }],
        region: Some("r".into()),
        zone: Some("z".into()),
        instance_type: Some("t".into()),
        interruptible: false,
        uncertain: false,
        drift: None,
        status,
    })
}

pub(super) fn recorded() -> Value {
    json!({
        "metadata": {
            "labels": {
                "machine.openshift.io/region": "r", "machine.openshift.io/zone": "z",
                "machine.openshift.io/instance-type": "t",
            },
            "annotations": {"machine.openshift.io/instance-state": "running"},
        },
        "spec": {"providerID": "p:///i-1"},
        "status": {"phase": "Provisioned", "providerStatus": {"launch": {"attempt": 1}}},
    })
}

pub(super) fn deleting() -> Value {
    json!({"metadata": {"deletionTimestamp": "2026-06-01T12:00:30Z"}})
}

pub(super) fn conditions(list: &[(&str, &str, &str)]) -> Value {
    let one = |(kind, status, reason): &(&str, &str, &str)| {
        let time = "2026-06-01T12:00:10Z";
        json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": time})
    };
    json!({"status": {"conditions": list.iter().map(one).collect::<Vec<_>>()}})
}

pub(crate) fn node(ready: &str) -> Arc<Node> {
    let node = json!({
        "metadata": {"name": "n", "uid": "uid-n", "resourceVersion": "1"},
        "spec": {"providerID": "p:///i-1"},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    });
    Arc::new(Nodes.project(serde_json::from_str(&node.to_string()).unwrap()))
}

pub(super) fn failure(category: Category) -> Failure {
    Failure { category, retry: Retry::Backoff, message: "no luck".to_owned() }
}

pub(super) fn all(patches: &[Value]) -> Value {
    let mut whole = json!({});
    for patch in patches {
        merge(&mut whole, patch);
    }
    whole
}

pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name.as_str()], value);
        }
    }
}
