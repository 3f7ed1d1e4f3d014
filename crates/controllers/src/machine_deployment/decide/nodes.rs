//! Which Nodes have the marks of a rollout. Pure: it follows from the view alone, so nothing is left behind by a
//! process that dies. A rolling update is under way while old Machines may exist, those being deleted included.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::key::ObjectKey;

use super::super::node_marks::{self, Marks};
use super::super::plan::{NodePatch, Plan, Reason};
use super::super::snapshot::View;
use super::Desired;
use super::members::numbers;
use super::scaling::Guard;
use crate::kinds::Node;

/// Nodes of one step, so that a large deployment reports meanwhile.
const NODES: usize = 128;

impl Desired {
    /// `rest`: why the MachineSets would not be scaled now.
    pub(super) fn mark_nodes(
        &self,
        view: &View,
        rest: Option<Reason>,
        now: Timestamp,
    ) -> Option<Plan> {
        if view.nodes.trouble.is_some() {
            return None;
        }
        let rolls = self.marks_nodes(view, now);
        let replaces = rolls && self.guard(view, now) == Guard::None;
        let members = view.nodes.members.iter().map(|(set, node)| {
            // While new Machines are observed, they are not to get all new pods.
            let prefer_no_schedule = replaces && self.new != Some(*set);
            (node, Marks { scale_down_disabled: rolls, prefer_no_schedule })
        });
        let strays = view.nodes.strays.iter().map(|node| (node, Marks::default()));
        let nodes = patches(&view.deployment.meta.key, members.chain(strays));
        (!nodes.is_empty()).then_some(Plan::MarkNodes { nodes, rest })
    }

    /// A rollout that is paused or aborted has no marks: nothing is replaced next, and cluster-autoscaler may scale
    /// down. With Recreate all old Machines go at once.
    fn marks_nodes(&self, view: &View, now: Timestamp) -> bool {
        let spec = &view.deployment.spec;
        let old = view.sets.iter().enumerate().filter(|(at, _)| Some(*at) != self.new);
        // Those that are kept for debugging are not replaced.
        let current = self.current(view, now);
        let count = |at, one| numbers(one, view, self.role(at, current), now).numbers.count();
        let has_old = || old.map(|(at, one)| count(at, one)).any(|count| count > 0);
        let stops = spec.paused || self.guard(view, now) == Guard::Aborted;
        let wanted = spec.strategy.mark_nodes.unwrap_or(true);
        wanted && !stops && !self.recreate && self.new.is_some() && has_old()
    }
}

/// With a spec that is refused nothing is replaced next.
pub(super) fn unmark_all(view: &View) -> Option<Plan> {
    let members = view.nodes.members.iter().map(|(_, node)| node);
    let all = members.chain(&view.nodes.strays).map(|node| (node, Marks::default()));
    // Those of another deployment stay.
    let key = &view.deployment.meta.key;
    let own = all.filter(|(node, _)| node_marks::deployment_of(node).as_ref() == Some(key));
    let nodes = if view.nodes.trouble.is_none() { patches(key, own) } else { Vec::new() };
    (!nodes.is_empty()).then_some(Plan::MarkNodes { nodes, rest: None })
}

/// Of a deployment that is deleted, or being deleted: Nodes of Machines that stay lose the marks.
pub(super) fn release(deployment: &ObjectKey, strays: &[Arc<Node>]) -> Plan {
    let nodes = patches(deployment, strays.iter().map(|node| (node, Marks::default())));
    let rest = Some(Reason::Deleting);
    if nodes.is_empty() { Plan::NoOp(Reason::Deleting) } else { Plan::MarkNodes { nodes, rest } }
}

fn patches<'a>(
    deployment: &ObjectKey,
    nodes: impl Iterator<Item = (&'a Arc<Node>, Marks)>,
) -> Vec<NodePatch> {
    let differs = nodes.filter(|(node, _)| !node.meta.deleting).filter_map(|(node, wanted)| {
        let patch = node_marks::patch(node, deployment, wanted)?;
        Some(NodePatch { node: Arc::clone(node), patch })
    });
    differs.take(NODES).collect()
}

#[cfg(test)]
mod tests;
