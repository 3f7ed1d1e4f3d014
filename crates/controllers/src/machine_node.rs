//! The Node of a Machine, by `status.nodeRef`, for those who count Machines.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use crate::kinds::{Machine, Node, Nodes};

/// `None` if the Node's condition has no time.
pub(crate) type ReadySince = Option<Timestamp>;

/// A Node with another uid is not the Machine's.
pub(crate) fn node_of(nodes: &Cache<Nodes>, machine: &Machine) -> Option<Arc<Node>> {
    let node_ref = machine.status.node_ref.as_ref()?;
    let key = ObjectKey::new("", Arc::clone(&node_ref.name));
    let Some(Entry::Known(node)) = nodes.get(&key) else { return None };
    (node_ref.uid.0.is_empty() || node_ref.uid == node.meta.uid).then_some(node)
}

/// Since when it has been ready; `None` if it is not.
pub(crate) fn ready_since(node: Option<&Node>) -> Option<ReadySince> {
    node.filter(|node| node.is_ready()).map(|node| node.readiness.since)
}

/// When a Machine will have been ready for `min_ready`, possibly in the past.
pub(crate) fn available_at(
    ready: Option<ReadySince>,
    min_ready: SignedDuration,
) -> Option<Timestamp> {
    match ready? {
        _ if min_ready.is_zero() => Some(Timestamp::MIN),
        Some(since) => since.checked_add(min_ready).ok(),
        None => None,
    }
}
