//! Links Machines and Nodes by provider ID; if one of them has none, by address ([`claim`]). Output: `status.nodeRef`
//! of the Machine; on the Node an annotation with the Machine's name, and the labels, annotations and taints of the
//! Machine ([`metadata`]). It creates and deletes nothing.

mod act;
mod claim;
mod decide;
mod declaration;
mod error;
#[cfg(test)]
mod exploration;
mod links;
mod messages;
mod metadata;
mod observe;
mod plan;
mod report;
#[cfg(test)]
mod samples;
mod snapshot;

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::NODES;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::Report;
use machinist_runtime::cache::store::{Change, Entry};
use machinist_runtime::cache::{AnyCache, Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::Writer;

use self::decide::decide;
pub use self::declaration::DECLARATION;
use self::links::Links;
use self::plan::{Outcome, Plan};
use self::report::report;
use self::snapshot::Snapshot;
use crate::kinds::{Machines, Node, Nodes};

#[derive(Debug)]
pub struct NodeLink {
    nodes: Arc<Cache<Nodes>>,
    machines: Arc<Cache<Machines>>,
    links: Links,
}

impl NodeLink {
    /// Links Machines of the control cluster with Nodes of the target cluster.
    pub fn new(shared: &Arc<Shared>, kind: Machines) -> Self {
        let machines = shared.caches.open(&shared.control, shared.scope.clone(), kind);
        shared.freezes.follow(&machines);
        let cluster = shared.target.as_ref().unwrap_or(&shared.control);
        let nodes = shared.caches.open(cluster, Scope::All, Nodes);
        let links = Links::new(&machines, &nodes);
        Self { nodes, machines, links }
    }
}

/// The old state of a Node that is deleted, or has another instance now: another Node may be linked instead.
fn made_room<'a>(change: &Change<'a, Node>) -> Option<&'a Node> {
    let Some(Entry::Known(before)) = change.before else { return None };
    let stays = match change.after {
        Some(Entry::Known(after)) => {
            after.provider_id == before.provider_id && after.meta.deleting == before.meta.deleting
        }
        Some(Entry::Undecodable(_)) => true,
        None => false,
    };
    (!stays).then_some(before)
}

impl Controller for NodeLink {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.nodes.clone(), self.machines.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let (nodes, links) = (Arc::clone(queue), self.links.clone());
        self.nodes.subscribe(move |change| {
            if change.after.is_some() {
                nodes.add_changed(change.key, change);
            }
            if let Some(node) = made_room(change) {
                for beside in links.nodes_beside(node) {
                    nodes.add_changed(&beside, change);
                }
            }
        });
        let (queue, links) = (Arc::clone(queue), self.links.clone());
        self.machines.subscribe(move |change| {
            for entry in [change.before, change.after].into_iter().flatten() {
                if let Entry::Known(machine) = entry {
                    for node in links.nodes_of(machine) {
                        queue.add_changed(&node, change);
                    }
                }
            }
        });
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot, now: Timestamp) -> Plan {
        decide(snapshot, now)
    }

    async fn act(&self, snapshot: &Snapshot, plan: &Plan, writer: &Writer) -> Outcome {
        act::act(self, snapshot, plan, writer).await
    }

    fn report(&self, _: &Snapshot, plan: &Plan, outcome: &Outcome, _: Timestamp) -> Report {
        report(plan, outcome)
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: NODES, meta: &snapshot.node.meta }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::samples::node;
    use super::*;

    #[test]
    fn frees_the_link_on_deletion_and_not_on_other_changes() {
        let spec = json!({"providerID": "p:///1"});
        let here = Entry::Known(node(json!({}), spec.clone()));
        let labelled = Entry::Known(node(json!({"labels": {"a": "b"}}), spec.clone()));
        let going = Entry::Known(node(json!({"deletionTimestamp": "2026-03-01T12:00:00Z"}), spec));
        let moved = Entry::Known(node(json!({}), json!({"providerID": "p:///2"})));
        let key = ObjectKey::new("", "n");
        let makes_room = |before, after| made_room(&Change { key: &key, before, after }).is_some();
        assert!(makes_room(Some(&here), None));
        assert!(makes_room(Some(&here), Some(&going)));
        assert!(makes_room(Some(&here), Some(&moved)));
        assert!(!makes_room(Some(&here), Some(&labelled)));
        assert!(!makes_room(None, Some(&here)));
    }
}
