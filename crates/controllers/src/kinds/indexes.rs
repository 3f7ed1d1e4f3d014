//! Indexes that several controllers look into. Each is kept once, whoever runs: with thousands of machines it takes half a megabyte.

use std::sync::Arc;

use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;

use super::{Machines, Nodes};

/// Machines by the name of the Node that they name.
pub(crate) fn machines_by_node(machines: &Cache<Machines>) -> Arc<Index> {
    machines.shared_index("by node", |machine| {
        machine.status.node_ref.iter().map(|node| Arc::clone(&node.name)).collect()
    })
}

/// Nodes by the instance that they say they run on.
pub(crate) fn nodes_by_provider_id(nodes: &Cache<Nodes>) -> Arc<Index> {
    nodes.shared_index("by provider id", |node| node.provider_id.iter().cloned().collect())
}
