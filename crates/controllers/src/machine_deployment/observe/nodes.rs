//! The Nodes of a deployment: those of its Machines, and those that still have its marks.

use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::super::MachineDeploymentController;
use super::super::ownership;
use super::super::snapshot::{Missing, NodesView, SetView, Snapshot};
use crate::kinds::{Machine, Node};
use crate::machine_node::node_of;

pub(super) async fn view(
    controller: &MachineDeploymentController,
    deployment: &Meta,
    sets: &[SetView],
) -> Result<NodesView, ApiError> {
    let mut members = Vec::new();
    for (at, one) in sets.iter().enumerate() {
        for machine in one.members.iter().filter_map(|member| member.machine.as_deref()) {
            if let Some(node) = node_of(&controller.nodes, machine) {
                members.push((at, certain(controller, node).await?));
            }
        }
    }
    let strays = strays(controller, &deployment.key).await?;
    let trouble = controller.node_troubles.of(&deployment.uid, controller.clock.uptime());
    Ok(NodesView { members, strays, trouble })
}

/// Marks are left if a deployment is deleted and its Machines stay (`--cascade=orphan`).
pub(super) async fn of_deleted(
    controller: &MachineDeploymentController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let strays = strays(controller, key).await?;
    if strays.is_empty() {
        return Ok(None);
    }
    let (uid, version) = (Uid("".into()), Version(0));
    let meta = Meta { key: key.clone(), uid, version, deleting: true };
    Ok(Some(Snapshot { meta, content: Err(Missing::Deleted(strays)) }))
}

/// Nodes with marks of the deployment whose Machine has left it. A Node that no Machine here has may belong to another
/// control cluster with a deployment of the same name.
async fn strays(
    controller: &MachineDeploymentController,
    deployment: &ObjectKey,
) -> Result<Vec<Arc<Node>>, ApiError> {
    let mut strays = Vec::new();
    for key in controller.nodes_by_rollout.get(&deployment.to_string()) {
        let Some(Entry::Known(node)) = controller.nodes.get_certain(&key).await? else { continue };
        let machines = controller.machines_by_node.get(&key.name);
        let machines: Vec<_> =
            machines.iter().filter_map(|machine| controller.machines.get(machine)).collect();
        let has_left = |machine: &Entry<Machine>| {
            !machine.meta().deleting && ownership::has_left(machine, deployment, &controller.sets)
        };
        if !machines.is_empty() && machines.iter().all(has_left) {
            strays.push(node);
        }
    }
    Ok(strays)
}

/// The same Node, from a live read if a write of it was not answered.
async fn certain(
    controller: &MachineDeploymentController,
    node: Arc<Node>,
) -> Result<Arc<Node>, ApiError> {
    Ok(match controller.nodes.get_certain(&node.meta.key).await? {
        Some(Entry::Known(certain)) if certain.meta.uid == node.meta.uid => certain,
        _ => node,
    })
}
