use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::Kind as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::snapshot::{Member, NodesView, Refused, SetView, Snapshot, View};
use super::template;
use crate::kinds::{MachineDeployment, MachineDeployments, MachineSet, MachineSets, Machines};

#[derive(Debug)]
pub(super) struct Unread;

impl SpecHalf for Unread {
    fn shape(&self, _: &RawValue) -> Result<Shape, SpecError> {
        Err(SpecError::Missing)
    }

    /// Those of one kind have tags that need no other instance.
    fn hot_fields(&self, spec: &RawValue) -> &'static [&'static str] {
        if spec.get().contains(r#""kind":"Hot""#) { &["tags"] } else { &[] }
    }

    fn in_place_fields(&self, _: &RawValue) -> &'static [&'static str] {
        &["instanceType"]
    }
}

pub(super) fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

/// Three Machines of type `b`.
pub(super) fn deployment() -> Value {
    json!({
        "metadata": {
            "name": "web", "namespace": "ns", "uid": "web-uid", "resourceVersion": "9",
            "generation": 4, "creationTimestamp": "2026-06-01T09:00:00Z",
            "annotations": {"machinedeployment.clusters.x-k8s.io/revision": "2"},
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template_of("b"),
        },
    })
}

pub(super) fn template_of(kind: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"providerSpec": {"value": {"instanceType": kind}}},
    })
}

pub(super) fn read(deployment: &Value) -> Arc<MachineDeployment> {
    let kind = MachineDeployments::new(Arc::new(Unread));
    Arc::new(kind.project(serde_json::from_str(&deployment.to_string()).unwrap()))
}

/// A set of the deployment for a template with this type; it is called like the type.
pub(super) fn set(kind: &str, replicas: usize, revision: i64, patch: &Value) -> Arc<MachineSet> {
    let mut source = deployment();
    source["spec"]["template"] = template_of(kind);
    let fields = patch.pointer("/metadata/annotations/machinist.dev~1hot-fields");
    let fields = fields.and_then(Value::as_str);
    let hash = template::hash_on(&read(&source).spec.template, fields).unwrap();
    let mut set = json!({
        "metadata": {
            "name": kind, "namespace": "ns", "uid": format!("{kind}-uid"), "resourceVersion": "5",
            "generation": 2, "creationTimestamp": format!("2026-06-01T10:00:0{revision}Z"),
            "labels": {"app": "web", "machinist.dev/template-hash": hash},
            "annotations": {"machinedeployment.clusters.x-k8s.io/revision": revision.to_string()},
            "ownerReferences": [{
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment",
                "name": "web", "uid": "web-uid", "controller": true,
            }],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web", "machinist.dev/template-hash": hash}},
            "template": template_of(kind),
        },
    });
    merge(&mut set, patch);
    let kind = MachineSets::new(Arc::new(Unread));
    Arc::new(kind.project(serde_json::from_str(&set.to_string()).unwrap()))
}

pub(super) fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (name, value) in patch {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, value) => *into = value.clone(),
    }
}

/// A Machine whose Node has been ready for so many seconds; `None` if it is not.
pub(super) fn member(name: &str, ready: Option<u64>, patch: &Value) -> Member {
    let mut machine = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1"},
    });
    merge(&mut machine, patch);
    let kind = Machines::new(Arc::new(Unread));
    let machine = Arc::new(kind.project(serde_json::from_str(&machine.to_string()).unwrap()));
    Member {
        key: machine.meta.key.clone(),
        machine: Some(machine),
        ready: ready.map(|seconds| Some(now() - Duration::from_secs(seconds))),
        unready_since: None,
        preserve_on_node: None,
    }
}

/// A set with so many Machines that are ready, and so many that are not.
pub(super) fn with_members(set: Arc<MachineSet>, ready: usize, starting: usize) -> SetView {
    let name = |at: usize| format!("{}-{at}", set.meta.key.name);
    let ready = (0..ready).map(|at| member(&name(at), Some(60), &json!({})));
    let starting = (0..starting).map(|at| member(&name(at + 100), None, &json!({})));
    let members = ready.chain(starting).collect();
    SetView { set, members, leaving: 0, open: 0, late: None }
}

pub(super) fn snapshot(deployment: &Value, sets: Vec<SetView>) -> Snapshot {
    let deployment = read(deployment);
    let meta = deployment.meta.clone();
    let view = View {
        deployment,
        sets,
        nodes: NodesView::default(),
        drained: None,
        orphans: Vec::new(),
        unselected: Vec::new(),
        undecodable: None,
        overlaps: None,
        refused: Refused::default(),
        doubtful: false,
        listed: false,
        fingerprint: 0,
        uptime: Duration::ZERO,
        move_poll: Duration::from_secs(5),
    };
    Snapshot { meta, content: Ok(view) }
}
