//! Builds the snapshot of a recycle: the group from the cloud, Nodes from the cache, and the drains in progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_api::event_recycler::recycle::{InstanceState, Recycle};
use machinist_domain::key::ObjectKey;
use machinist_provider::node_groups::InstanceId;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::Recycling;
use super::snapshot::{Settings, Snapshot, group_of};
use crate::drain::{self, Step, StoredStep, Subject};
use crate::kinds::{Node, NodeRef};

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

    async fn observe_drain(&self, node: &Node) -> drain::View {
        let uid = &node.meta.uid;
        let uptime = self.clock.uptime();
        let since = self.volume_waits.lock().get(uid, uptime).map(|(since, _)| *since);
        let stored = since.map(|_| StoredStep { step: Step::WaitingForVolumes, since });
        let subject = Subject {
            uid: uid.clone(),
            node_ref: Some(NodeRef { name: node.meta.key.name.clone(), uid: uid.clone() }),
            provider_id: node.provider_id.clone(),
            hooks: Box::default(),
            excluded: false,
            forced: false,
            tainted: false,
            limit: drain::Limit::Default,
            stored,
        };
        self.drainer.observe(subject).await
    }
}
