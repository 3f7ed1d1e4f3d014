//! Nodes as the caches store them.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{LABEL_CONTROL_PLANE, LABEL_MASTER, NODE_CONDITION_READY};
use machinist_api::resource::{NODES, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_domain::pairs::Pairs;
use machinist_domain::taint::Taint;
use machinist_runtime::cache::kind::{Kind, Stored};

use super::interner::Interner;

/// A Node in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Identity and version.
    pub meta: Meta,
    /// `spec.providerID`.
    pub provider_id: Option<Arc<str>>,
    /// All labels.
    pub labels: Pairs,
    /// All annotations.
    pub annotations: Pairs,
    /// All taints.
    pub taints: Box<[Taint]>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// Its Ready condition.
    pub readiness: Readiness,
    /// Its internal IP addresses, in the order of the status.
    pub internal_ips: Box<[Arc<str>]>,
    /// Attached volumes.
    pub volumes_attached: Box<[Arc<str>]>,
}

/// The Ready condition of a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Its status.
    pub status: Ready,
    /// Its lastTransitionTime.
    pub since: Option<Timestamp>,
}

/// The status of a Ready condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// True.
    Yes,
    /// False.
    No,
    /// Unknown, or missing.
    Unknown,
}

impl Node {
    /// Whether it is a control-plane node.
    pub fn is_control_plane(&self) -> bool {
        [LABEL_CONTROL_PLANE, LABEL_MASTER].iter().any(|label| self.labels.contains(label))
    }

    /// Whether it is ready.
    pub fn is_ready(&self) -> bool {
        self.readiness.status == Ready::Yes
    }
}

impl Stored for Node {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

/// Parses Nodes.
#[derive(Clone)]
pub struct Nodes {
    names: Arc<Interner<str>>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self { names: Interner::shared() }
    }
}

impl std::fmt::Debug for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nodes")
    }
}

impl Kind for Nodes {
    type Wire = wire::Node;
    type Stored = Node;
    const RESOURCE: Resource = NODES;

    fn project(&self, wire: wire::Node) -> Node {
        let share = |name: String| self.names.name(name);
        let mut meta = Meta::of(&wire.metadata);
        meta.key.name = self.names.name(&meta.key.name);
        let internal = wire.status.addresses.into_iter().filter(|one| one.kind == "InternalIP");
        let attached = wire.status.volumes_attached.into_iter();
        Node {
            meta,
            provider_id: wire.spec.provider_id.filter(|id| !id.is_empty()).map(share),
            labels: Pairs::shared(wire.metadata.labels, share),
            annotations: Pairs::shared(wire.metadata.annotations, share),
            taints: wire.spec.taints.into_iter().map(|one| Taint::shared(one, share)).collect(),
            unschedulable: wire.spec.unschedulable,
            readiness: readiness(&wire.status.conditions),
            internal_ips: internal.map(|one| share(one.address)).collect(),
            volumes_attached: attached.map(|one| share(one.name)).collect(),
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
