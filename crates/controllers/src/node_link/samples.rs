//! Machines and Nodes from JSON, for tests of pure stages.

use std::sync::Arc;

use machinist_api::wire;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::Kind as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::kinds::{Machine, Machines, Node, Nodes};

struct NoSpecs;

impl SpecHalf for NoSpecs {
    fn shape(&self, _: &RawValue) -> Result<Shape, SpecError> {
        Err(SpecError::Missing)
    }
}

pub(super) fn machine(spec: Value, node_ref: Value) -> Arc<Machine> {
    let wire: wire::Machine = serde_json::from_str(
        &json!({
            "metadata": {"namespace": "prod", "name": "m", "uid": "m-uid", "resourceVersion": "7"},
            "spec": spec,
            "status": {"nodeRef": node_ref},
        })
        .to_string(),
    )
    .unwrap();
    Arc::new(Machines::new(Arc::new(NoSpecs)).project(wire))
}

pub(super) fn node(metadata: Value, spec: Value) -> Arc<Node> {
    let mut node = json!({
        "metadata": {"name": "n", "uid": "n-uid", "resourceVersion": "9"},
        "spec": spec,
    });
    for (field, value) in metadata.as_object().unwrap() {
        node["metadata"][field] = value.clone();
    }
    Arc::new(Nodes::default().project(serde_json::from_value(node).unwrap()))
}
