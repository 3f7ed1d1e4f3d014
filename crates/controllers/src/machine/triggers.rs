//! Requeues Machines on changes of their Nodes, Secrets and cluster settings, and finds these objects.

use std::sync::Arc;

use machinist_api::names::{
    ANNOTATION_DRAIN, ANNOTATION_PRESERVE, ANNOTATION_SCALE_DOWN_DISABLED,
    ANNOTATION_SCALE_DOWN_DISABLED_BY,
};
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;
use machinist_runtime::cache::store::{Change, Entry};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::queue::Queue;

use crate::cloud_access::{CloudAccessResolver, SecretScope};
use crate::drain::node_match::{NodeMatch, match_node};
use crate::in_place;
use crate::kinds::indexes::{machines_by_node, nodes_by_provider_id};
use crate::kinds::{Machine, Machines, Node, Nodes};
use crate::openshift::OpenShift;

/// What matters of a Node's annotations.
const NODE_ANNOTATIONS: [&str; 4] = [
    ANNOTATION_DRAIN,
    ANNOTATION_PRESERVE,
    ANNOTATION_SCALE_DOWN_DISABLED,
    ANNOTATION_SCALE_DOWN_DISABLED_BY,
];

#[derive(Debug)]
pub(super) struct Triggers {
    nodes: Arc<Cache<Nodes>>,
    machines_by_node: Arc<Index>,
    nodes_by_provider_id: Arc<Index>,
    pub(super) access: CloudAccessResolver<Machines>,
}

impl Triggers {
    pub(super) fn new(
        shared: &Arc<Shared>,
        openshift: &OpenShift,
        machines: &Arc<Cache<Machines>>,
        nodes: &Arc<Cache<Nodes>>,
        secrets: SecretScope,
    ) -> Self {
        let access = CloudAccessResolver::new(shared, openshift, secrets, machines, |machine| {
            machine.shape().ok()
        });
        Self {
            machines_by_node: machines_by_node(machines),
            nodes_by_provider_id: nodes_by_provider_id(nodes),
            access,
            nodes: Arc::clone(nodes),
        }
    }

    pub(super) fn subscribe(&self, queue: &Arc<Queue>) {
        self.access.subscribe(queue);
        let (queue, by_node) = (Arc::clone(queue), Arc::clone(&self.machines_by_node));
        self.nodes.subscribe(move |change| {
            if matters(change) {
                for key in by_node.get(&change.key.name) {
                    queue.add_changed(&key, change);
                }
            }
        });
    }

    /// The Node in `status.nodeRef`, or the one with the Machine's provider ID.
    pub(super) fn node_of(&self, machine: &Machine) -> Option<Arc<Node>> {
        if let Some(named) = &machine.status.node_ref {
            let node = self.node(&ObjectKey::new("", Arc::clone(&named.name)))?;
            let whose = match_node(named, machine.provider_id.as_deref(), &node);
            return (whose == NodeMatch::Ours).then_some(node);
        }
        let id = machine.provider_id.as_deref()?;
        match self.nodes_by_provider_id.get(id).as_slice() {
            [key] => self.node(key),
            _ => None,
        }
    }

    fn node(&self, key: &ObjectKey) -> Option<Arc<Node>> {
        self.nodes.get(key)?.known().cloned()
    }
}

/// Whether a change of a Node matters to its Machine. Most changes are heartbeats.
fn matters(change: &Change<'_, Node>) -> bool {
    let (Some(Entry::Known(before)), Some(Entry::Known(after))) = (change.before, change.after)
    else {
        return true;
    };
    let seen = |node: &Node| (node.meta.uid.clone(), node.meta.deleting, node.unschedulable);
    seen(before) != seen(after)
        || before.readiness.status != after.readiness.status
        || before.provider_id != after.provider_id
        || NODE_ANNOTATIONS
            .iter()
            .any(|name| before.annotations.get(name) != after.annotations.get(name))
        || before.taints != after.taints
        || before.volumes_attached != after.volumes_attached
        || in_place::marks(before) != in_place::marks(after)
}
