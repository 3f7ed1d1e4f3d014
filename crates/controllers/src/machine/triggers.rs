//! Requeues Machines on changes of their Nodes, Secrets and cluster settings, and finds these objects.

use std::sync::{Arc, OnceLock};

use machinist_api::names::ANNOTATION_DRAIN;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;
use machinist_runtime::cache::store::{Change, Entry};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::queue::Queue;

use crate::cloud_access::released_secrets::ReleasedSecrets;
use crate::cloud_access::{CloudAccessResolver, Concern, SecretScope};
use crate::drain::node_match::{NodeMatch, match_node};
use crate::kinds::indexes::{machines_by_node, nodes_by_provider_id};
use crate::kinds::{Machine, Machines, Node, Nodes};
use crate::openshift::OpenShift;

pub(super) type Requeue = Arc<dyn Fn(&ObjectKey) + Send + Sync>;

#[derive(Debug)]
pub(super) struct Triggers {
    machines: Arc<Cache<Machines>>,
    nodes: Arc<Cache<Nodes>>,
    machines_by_node: Arc<Index>,
    machines_by_secret: Arc<Index>,
    nodes_by_provider_id: Arc<Index>,
    pub(super) access: CloudAccessResolver,
    released_secrets: Arc<ReleasedSecrets>,
    /// Set when the driver subscribes; earlier changes are in the caches by then.
    queue: Arc<OnceLock<Arc<Queue>>>,
}

impl Triggers {
    pub(super) fn new(
        shared: &Arc<Shared>,
        machines: &Arc<Cache<Machines>>,
        nodes: &Arc<Cache<Nodes>>,
        secrets: SecretScope,
    ) -> Self {
        let queue = Arc::<OnceLock<Arc<Queue>>>::default();
        let by_secret = machines.index(|machine| {
            secret_of(machine).iter().map(|secret| secret.to_string().into()).collect()
        });
        let (named, all, woken) = (by_secret.clone(), Arc::clone(machines), Arc::clone(&queue));
        let listener = Arc::new(move |concern| {
            let Some(queue) = woken.get() else { return };
            let concerned = match concern {
                Concern::All => all.keys(),
                Concern::Secret(key) => named.get(&key.to_string()),
            };
            for key in &concerned {
                queue.add(key);
            }
        });
        Self {
            machines_by_node: machines_by_node(machines),
            machines_by_secret: by_secret,
            nodes_by_provider_id: nodes_by_provider_id(nodes),
            access: CloudAccessResolver::new(shared, &OpenShift::new(shared), secrets, listener),
            released_secrets: Arc::default(),
            machines: Arc::clone(machines),
            nodes: Arc::clone(nodes),
            queue,
        }
    }

    pub(super) fn requeue(&self) -> Requeue {
        let queue = Arc::clone(&self.queue);
        Arc::new(move |key| {
            if let Some(queue) = queue.get() {
                queue.add(key);
            }
        })
    }

    pub(super) fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = self.queue.get_or_init(|| Arc::clone(queue));
        let (machines, released_secrets) = (Arc::clone(queue), Arc::clone(&self.released_secrets));
        self.machines.subscribe(move |change| {
            let [before, after] = [change.before, change.after].map(|entry| match entry {
                Some(Entry::Known(machine)) => secret_of(machine),
                _ => None,
            });
            released_secrets.changed(change.key, before.as_ref(), after.as_ref());
            // A deleted Machine is reconciled once more to release its Secrets.
            machines.add_changed(change.key, change);
        });
        let (queue, by_node) = (Arc::clone(queue), Arc::clone(&self.machines_by_node));
        self.nodes.subscribe(move |change| {
            if matters(change) {
                for key in by_node.get(&change.key.name) {
                    queue.add_changed(&key, change);
                }
            }
        });
    }

    /// Closes the watches of Secrets that this Machine was the last to reference.
    pub(super) fn release_secrets(&self, key: &ObjectKey) {
        for secret in self.released_secrets.take(key) {
            if self.machines_by_secret.get(&secret.to_string()).is_empty() {
                self.access.release(&secret);
            }
        }
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
        match self.nodes.get(key)? {
            Entry::Known(node) => Some(node),
            Entry::Undecodable(_) => None,
        }
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
        || before.annotations.get(ANNOTATION_DRAIN) != after.annotations.get(ANNOTATION_DRAIN)
        || before.volumes_attached != after.volumes_attached
}

fn secret_of(machine: &Machine) -> Option<ObjectKey> {
    let name = machine.shape().ok()?.credentials_secret.clone()?;
    Some(ObjectKey::new(Arc::clone(&machine.meta.key.namespace), name))
}
