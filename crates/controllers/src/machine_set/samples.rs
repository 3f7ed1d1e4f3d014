use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::Kind as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::snapshot::{InFlight, Member, Seen, Snapshot, View};
use crate::kinds::{Machine, MachineSetState, MachineSets, Machines};
use crate::served::Field;

#[derive(Debug)]
pub(super) struct Unread;

impl SpecHalf for Unread {
    fn shape(&self, _: &RawValue) -> Result<Shape, SpecError> {
        Err(SpecError::Missing)
    }
}

pub(super) fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

pub(super) fn ago(seconds: u64) -> Timestamp {
    now() - Duration::from_secs(seconds)
}

pub(super) fn set() -> Value {
    json!({
        "metadata": {"name": "set", "namespace": "ns", "uid": "set-uid", "resourceVersion": "1", "generation": 7},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {}},
        },
    })
}

pub(super) fn state(set: &Value) -> Arc<MachineSetState> {
    let kind = MachineSets::new(Arc::new(Unread));
    kind.project(serde_json::from_str(&set.to_string()).unwrap()).state
}

pub(super) fn machine(name: &str, patch: &Value) -> Arc<Machine> {
    let mut machine = json!({
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("uid-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-06-01T11:00:00Z", "labels": {"a": "b", "c": "d"},
        },
    });
    merge(&mut machine, patch);
    let kind = Machines::new(Arc::new(Unread));
    Arc::new(kind.project(serde_json::from_str(&machine.to_string()).unwrap()))
}

fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (name, value) in patch {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, value) => *into = value.clone(),
    }
}

pub(super) fn member(machine: Arc<Machine>) -> Member {
    Member {
        key: machine.meta.key.clone(),
        seen: Some(Seen { machine, ready: None, preserve_on_node: None }),
    }
}

pub(super) fn members(count: usize) -> Vec<Member> {
    (0..count).map(|n| member(machine(&format!("m{n}"), &json!({})))).collect()
}

pub(super) fn view(set: &Value, members: Vec<Member>) -> View {
    View {
        set: state(set),
        members,
        orphans: Vec::new(),
        unselected: Vec::new(),
        unadopted_orphans: 0,
        claim_failure: None,
        claim_retry: None,
        open_ordinals: Vec::new(),
        leaving_ordinals: 0,
        highest_ordinal: None,
        in_flight: InFlight::No,
        listed: true,
        hold_counts: Duration::ZERO,
    }
}

pub(super) fn snapshot(view: View) -> Snapshot {
    let meta = Meta {
        key: ObjectKey::new("ns", "set"),
        uid: Uid("set-uid".into()),
        version: Version(1),
        deleting: false,
    };
    Snapshot {
        meta,
        content: Ok(view),
        obey_migration: false,
        authority_field: Field::Served,
        conditions_field: Field::Served,
    }
}
