//! Indexes of Machines and Nodes by provider ID and by address.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_provider::cloud::AddressKind;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;

use crate::kinds::indexes::nodes_by_provider_id;
use crate::kinds::{Machine, Machines, Node, Nodes};

#[derive(Debug, Clone)]
pub(super) struct Links {
    pub(super) nodes_by_provider_id: Arc<Index>,
    nodes_by_address: Arc<Index>,
    machines_by_provider_id: Arc<Index>,
    machines_by_address: Arc<Index>,
}

impl Links {
    pub(super) fn new(machines: &Cache<Machines>, nodes: &Cache<Nodes>) -> Self {
        Self {
            nodes_by_provider_id: nodes_by_provider_id(nodes),
            // Nodes by their first address, Machines by all of theirs.
            nodes_by_address: nodes
                .index(|node| node.internal_ips.first().cloned().into_iter().collect()),
            machines_by_provider_id: machines
                .index(|machine| machine.provider_id.iter().cloned().collect()),
            machines_by_address: machines.index(|machine| internal_ips(machine).cloned().collect()),
        }
    }

    /// Machines with this Node's provider ID; without one, those with its address.
    pub(super) fn machines_of(&self, node: &Node) -> Vec<ObjectKey> {
        let by_id = get(&self.machines_by_provider_id, node.provider_id.as_ref());
        if !by_id.is_empty() {
            return by_id;
        }
        get(&self.machines_by_address, node.internal_ips.first())
    }

    /// Other Nodes with the instance or the address of this one.
    pub(super) fn nodes_beside(&self, node: &Node) -> Vec<ObjectKey> {
        let mut beside = get(&self.nodes_by_provider_id, node.provider_id.as_ref());
        beside.extend(get(&self.nodes_by_address, node.internal_ips.first()));
        beside.retain(|key| *key != node.meta.key);
        beside
    }

    /// Nodes that a change of this Machine may affect.
    pub(super) fn nodes_of(&self, machine: &Machine) -> Vec<ObjectKey> {
        let mut nodes = get(&self.nodes_by_provider_id, machine.provider_id.as_ref());
        for address in internal_ips(machine) {
            nodes.extend(self.nodes_by_address.get(address));
        }
        if let Some(node) = &machine.status.node_ref {
            nodes.push(ObjectKey::new("", Arc::clone(&node.name)));
        }
        nodes
    }
}

fn get(index: &Index, term: Option<&Arc<str>>) -> Vec<ObjectKey> {
    term.map(|term| index.get(term)).unwrap_or_default()
}

fn internal_ips(machine: &Machine) -> impl Iterator<Item = &Arc<str>> {
    let internal =
        machine.status.addresses.iter().filter(|one| one.kind == AddressKind::InternalIp);
    internal.map(|one| &one.address)
}
