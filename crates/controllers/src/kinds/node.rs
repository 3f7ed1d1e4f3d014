use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{LABEL_CONTROL_PLANE, LABEL_MASTER, NODE_CONDITION_READY};
use machinist_api::resource::{NODES, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_domain::pairs::Pairs;
use machinist_runtime::cache::kind::Kind;

use super::interner::name;
use super::taint::Taint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub meta: Meta,
    pub provider_id: Option<Arc<str>>,
    pub labels: Pairs,
    pub annotations: Pairs,
    pub taints: Box<[Taint]>,
    pub unschedulable: bool,
    pub readiness: Readiness,
    /// Its internal IP addresses, in the order of the status.
    pub internal_ips: Box<[Arc<str>]>,
    pub volumes_attached: Box<[Arc<str>]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    pub status: Ready,
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    Yes,
    No,
    /// Unknown, or missing.
    Unknown,
}

impl Node {
    pub fn is_control_plane(&self) -> bool {
        [LABEL_CONTROL_PLANE, LABEL_MASTER].iter().any(|label| self.labels.contains(label))
    }

    pub fn is_ready(&self) -> bool {
        self.readiness.status == Ready::Yes
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Nodes;

impl Kind for Nodes {
    type Wire = wire::Node;
    type Stored = Node;
    const RESOURCE: Resource = NODES;

    fn project(&self, wire: wire::Node) -> Node {
        let mut meta = Meta::of(&wire.metadata);
        meta.key.name = name(&meta.key.name);
        let internal = wire.status.addresses.into_iter().filter(|one| one.kind == "InternalIP");
        let attached = wire.status.volumes_attached.into_iter();
        Node {
            meta,
            provider_id: wire.spec.provider_id.filter(|id| !id.is_empty()).map(name),
            labels: Pairs::shared(wire.metadata.labels, name),
            annotations: Pairs::shared(wire.metadata.annotations, name),
            taints: wire.spec.taints.into_iter().map(|one| Taint::shared(one, name)).collect(),
            unschedulable: wire.spec.unschedulable,
            readiness: readiness(&wire.status.conditions),
            internal_ips: internal.map(|one| name(one.address)).collect(),
            volumes_attached: attached.map(|one| name(one.name)).collect(),
        }
    }
}

fn readiness(conditions: &[wire::Condition]) -> Readiness {
    let condition = conditions.iter().find(|condition| condition.kind == NODE_CONDITION_READY);
    let status = match condition.map(|condition| condition.status.as_str()) {
        Some("True") => Ready::Yes,
        Some("False") => Ready::No,
        _ => Ready::Unknown,
    };
    Readiness { status, since: condition.and_then(|condition| condition.last_transition_time) }
}
