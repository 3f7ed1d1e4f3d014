use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::NodeLink;
use super::claim::is_claim;
use super::error::Refusal;
use super::snapshot::{Owner, Snapshot};
use crate::kinds::Node;

pub(super) async fn observe(
    controller: &NodeLink,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(Entry::Known(node)) = controller.nodes.get_certain(key).await? else {
        return Ok(None);
    };
    let owner = owner(controller, &node).await?;
    Ok(Some(Snapshot { node, owner }))
}

async fn owner(controller: &NodeLink, node: &Node) -> Result<Owner, ApiError> {
    let mut machines = Vec::new();
    for key in controller.links.machines_of(node) {
        if let Some(Entry::Known(machine)) = controller.machines.get_certain(&key).await? {
            machines.push(machine);
        }
    }
    let is_there = |name: &Arc<str>| exists(controller, &ObjectKey::new("", Arc::clone(name)));
    machines.retain(|machine| is_claim(machine, node, is_there));
    let machine = match machines.as_slice() {
        [] => return Ok(Owner::None),
        [machine] => Arc::clone(machine),
        several => {
            let mut keys: Vec<_> = several.iter().map(|one| one.meta.key.clone()).collect();
            keys.sort();
            return Ok(Owner::Ambiguous(Refusal::Disputed(keys)));
        }
    };
    let others = other_nodes(controller, node);
    // A linked Node stays linked.
    let linked = machine.status.node_ref.as_ref();
    if others.is_empty() || linked.is_some_and(|linked| linked.uid == node.meta.uid) {
        return Ok(Owner::Machine(machine));
    }
    let machine = machine.meta.key.clone();
    Ok(Owner::Ambiguous(Refusal::Double { machine, others }))
}

fn exists(controller: &NodeLink, node: &ObjectKey) -> bool {
    controller.nodes.get(node).is_some_and(|node| !node.meta().deleting)
}

fn other_nodes(controller: &NodeLink, node: &Node) -> Vec<ObjectKey> {
    let Some(id) = &node.provider_id else { return Vec::new() };
    let mut others = controller.links.nodes_by_provider_id.get(id);
    others.retain(|key| *key != node.meta.key && exists(controller, key));
    others.sort();
    others
}
