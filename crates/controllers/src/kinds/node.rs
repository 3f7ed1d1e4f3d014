use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use machinist_api::names::{
    LABEL_CONTROL_PLANE, LABEL_MASTER, NODE_CONDITION_READY, NODE_CONDITION_TERMINATING,
};
use machinist_api::resource::{NODES, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_domain::pairs::Pairs;
use machinist_runtime::cache::kind::Kind;

use super::interner::{Interner, name};
use super::taint::Taint;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub meta: Meta,
    pub created: Timestamp,
    pub provider_id: Option<Arc<str>>,
    pub labels: Pairs,
    pub annotations: Pairs,
    pub taints: Box<[Taint]>,
    pub unschedulable: bool,
    pub readiness: Readiness,
    pub conditions: Box<[NodeCondition]>,
    /// Its internal IP addresses, in the order of the status.
    pub internal_ips: Box<[Arc<str>]>,
    pub volumes_attached: Box<[Arc<str>]>,
}

/// A condition without its heartbeat, which most writes of a kubelet change alone. Thousands of Nodes have the same few
/// types and statuses, so that each takes 16 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCondition {
    pub state: Arc<NodeState>,
    /// `lastTransitionTime` in seconds since the epoch.
    since: i64,
}

/// Type and status of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeState {
    pub kind: Arc<str>,
    pub status: Arc<str>,
}

static STATES: LazyLock<Interner<NodeState>> = LazyLock::new(Interner::default);

impl NodeCondition {
    /// The time of a condition that has none.
    const NO_TIME: i64 = i64::MIN;

    fn of(wire: &wire::Condition) -> Self {
        let state = NodeState { kind: name(&wire.kind), status: name(&wire.status) };
        let since = wire.last_transition_time.map_or(Self::NO_TIME, Timestamp::as_second);
        Self { state: STATES.intern(Arc::new(state)), since }
    }

    pub fn since(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.since).ok()
    }
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

    /// Whether the cloud has announced that it takes the instance.
    pub fn is_terminating(&self) -> bool {
        let notice = |one: &NodeCondition| {
            &*one.state.kind == NODE_CONDITION_TERMINATING && &*one.state.status == "True"
        };
        self.conditions.iter().any(notice)
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
            created: wire.metadata.creation_timestamp.unwrap_or_default(),
            provider_id: wire.spec.provider_id.filter(|id| !id.is_empty()).map(name),
            labels: Pairs::shared(wire.metadata.labels, name),
            annotations: Pairs::shared(wire.metadata.annotations, name),
            taints: wire.spec.taints.into_iter().map(|one| Taint::shared(one, name)).collect(),
            unschedulable: wire.spec.unschedulable,
            readiness: readiness(&wire.status.conditions),
            conditions: wire.status.conditions.iter().map(NodeCondition::of).collect(),
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(heartbeat: &str, conditions: &[(&str, &str)]) -> Node {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, since)| {
                json!({"type": kind, "status": "True", "lastHeartbeatTime": heartbeat,
                    "lastTransitionTime": since})
            })
            .collect();
        let node = json!({"metadata": {"name": "n"}, "status": {"conditions": conditions}});
        Nodes.project(serde_json::from_str(&node.to_string()).unwrap())
    }

    #[test]
    fn a_heartbeat_changes_no_condition_and_a_transition_does() {
        let since = "2026-06-01T12:00:00Z";
        let of = |heartbeat, since| node(heartbeat, &[("Ready", since), ("DiskPressure", since)]);
        let first = of(since, since);
        assert_eq!(first.conditions, of("2026-06-01T12:05:00Z", since).conditions);
        assert_ne!(first.conditions, of(since, "2026-06-01T12:00:01Z").conditions);
        assert_eq!(first.conditions[0].since(), since.parse().ok());
    }

    #[test]
    fn conditions_of_thousands_of_nodes_share_their_texts() {
        let (one, other) = (node("", &[("Ready", "")]), node("", &[("Ready", "x")]));
        assert!(Arc::ptr_eq(&one.conditions[0].state, &other.conditions[0].state));
        assert_eq!(one.conditions[0].since(), None);
        assert_eq!(size_of::<NodeCondition>(), 16);
    }
}
