//! Builds the snapshot of a recycle: the group from the cloud, Nodes from the cache, and the drains in progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::drain::Step;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle};
use machinist_domain::key::ObjectKey;
use machinist_provider::node_groups::InstanceId;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::Recycling;
use super::snapshot::{Settings, Snapshot, group_of};
use crate::drain::{self, StoredStep, Subject};
use crate::kinds::{Node, NodeRef};

/// Since when a drain waits for these volumes. Each volume that is detached restarts the timeout.
#[derive(Debug, Clone)]
pub(super) struct VolumeWait {
    since: jiff::Timestamp,
    volumes: Vec<Arc<str>>,
}

impl Recycling {
    /// Builds the snapshot of a recycle. `owner` is the owner as it is stored in the tags of the group.
    pub async fn observe(
        &self,
        recycle: &Recycle,
        owner: Arc<str>,
        settings: Settings,
    ) -> Result<Snapshot, ApiError> {
        let group = self.group_cache.get(&group_of(recycle), settings.poll).await;
        let instances = recycle.instances.iter().map(|one| InstanceId::from(one.id.as_str()));
        let members = group.present().into_iter().flat_map(|group| &group.members);
        let ids: Vec<_> = instances.chain(members.map(|member| member.id.clone())).collect();
        let (mut nodes, mut drains) = (BTreeMap::new(), BTreeMap::new());
        for id in ids {
            if let Some(node) = self.node_of(&id).await? {
                nodes.insert(id, node);
            }
        }
        for instance in &recycle.instances {
            let id = InstanceId::from(instance.id.as_str());
            if instance.state == InstanceState::Draining
                && settings.drain
                && !settings.dry_run
                && let Some(node) = nodes.get(&id)
            {
                drains.insert(id, self.observe_drain(node).await);
            }
        }
        Ok(Snapshot {
            recycle: recycle.clone(),
            owner,
            settings,
            group,
            nodes,
            drains,
            own_node: self.own_node.clone(),
            cancelled: false,
        })
    }

    /// The Node of an instance, by a live read where the answer to a write was lost.
    async fn node_of(&self, instance: &InstanceId) -> Result<Option<Arc<Node>>, ApiError> {
        for key in self.by_instance.get(&instance.0) {
            if let Some(Entry::Known(node)) = self.nodes.get_certain(&key).await? {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    pub fn nodes_of<'a>(
        &self,
        instances: impl IntoIterator<Item = &'a InstanceId>,
    ) -> BTreeMap<InstanceId, Arc<Node>> {
        let known = |key: &ObjectKey| self.nodes.get(key)?.known().cloned();
        let found = instances.into_iter().filter_map(|id| {
            let node = self.by_instance.get(&id.0).iter().find_map(known)?;
            Some((id.clone(), node))
        });
        found.collect()
    }

    /// Observes a drain, and remembers since when volumes are waited for. A restart extends the wait.
    async fn observe_drain(&self, node: &Node) -> drain::View {
        let uid = &node.meta.uid;
        let waits = self.volume_waits.lock().get(uid).cloned();
        let stored = waits
            .as_ref()
            .map(|wait| StoredStep { step: Step::WaitingForVolumes, since: Some(wait.since) });
        let subject = Subject {
            uid: uid.clone(),
            node_ref: Some(NodeRef { name: node.meta.key.name.clone(), uid: uid.clone() }),
            provider_id: node.provider_id.clone(),
            hooks: Box::default(),
            excluded: false,
            forced: false,
            stored,
        };
        let view = self.drainer.observe(subject).await;
        let now = self.clock.now();
        let plan = drain::decide(&view, now);
        let mut volume_waits = self.volume_waits.lock();
        if plan.step != Step::WaitingForVolumes {
            volume_waits.remove(uid);
        } else if let Some(volumes) = view.volumes.present()
            && waits.is_none_or(|waits| waits.volumes != *volumes)
        {
            volume_waits.insert(uid.clone(), VolumeWait { since: now, volumes: volumes.clone() });
        }
        if plan.is_done() {
            self.drainer.forget(uid);
        }
        view
    }
}
