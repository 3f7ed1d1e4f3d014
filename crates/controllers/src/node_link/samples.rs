use std::sync::Arc;

use machinist_api::wire;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::Kind as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::kinds::{Machine, Machines, Node, Nodes};

#[derive(Debug)]
pub(super) struct NoSpecs;

impl SpecHalf for NoSpecs {
    fn shape(&self, _: &RawValue) -> Result<Shape, SpecError> {
        Err(SpecError::Missing)
    }
}

pub(super) fn machine(spec: Value, node_ref: Value) -> Arc<Machine> {
    let mut machine = json!({
        "metadata": {"namespace": "prod", "name": "m", "uid": "m-uid", "resourceVersion": "7"},
        "status": {},
    });
    machine["spec"] = spec;
    machine["status"]["nodeRef"] = node_ref;
    let wire: wire::Machine = serde_json::from_str(&machine.to_string()).unwrap();
    Arc::new(Machines::new(Arc::new(NoSpecs)).project(wire))
}

/// `metadata` has objects, such as labels, by their names.
pub(super) fn node(metadata: Value, spec: Value) -> Arc<Node> {
    let mut node = json!({
        "metadata": {"name": "n", "uid": "n-uid", "resourceVersion": "9"},
    });
    node["spec"] = spec;
    if let Value::Object(fields) = metadata {
        for (field, value) in fields {
            node["metadata"][field] = value;
        }
    }
    Arc::new(Nodes.project(serde_json::from_value(node).unwrap()))
}
