//! Indexes that several controllers share: with thousands of Machines each takes half a megabyte.

use std::sync::Arc;

use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;

use super::{Machines, Nodes};

pub(crate) fn machines_by_node(machines: &Cache<Machines>) -> Arc<Index> {
    machines.shared_index("by node", |machine| {
        machine.status.node_ref.iter().map(|node| Arc::clone(&node.name)).collect()
    })
}

pub(crate) fn nodes_by_provider_id(nodes: &Cache<Nodes>) -> Arc<Index> {
    nodes.shared_index("by provider id", |node| node.provider_id.iter().cloned().collect())
}
