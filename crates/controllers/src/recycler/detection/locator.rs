//! From an occurrence to a Node, an instance and its group, by caches alone. Never waits.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::{GroupRef, NodeGroups};
use machinist_runtime::cache::Cache;

use super::counting::{Located, Target};
use super::group_membership::GroupMembership;
use super::occurrence::Occurrence;
use crate::kinds::{Involved, Node, Nodes, Pod, Pods, hash_of};
use crate::recycler::messages;
use crate::recycler::settings::Settings;

const LABEL_REGION: &str = "topology.kubernetes.io/region";

#[derive(Debug)]
pub struct Locator {
    pub pods: Arc<Cache<Pods>>,
    pub nodes: Arc<Cache<Nodes>>,
    pub cloud: Arc<dyn NodeGroups>,
    pub group_membership: GroupMembership,
    /// The region of this process, if it is known.
    pub region: Option<Arc<str>>,
}

impl Locator {
    pub(crate) fn locate(&self, occurrence: Occurrence, settings: &Settings) -> Located {
        let occurrence = self.about_an_object(occurrence, settings);
        let node = self.node_of(&occurrence, settings);
        let target = node.clone().and_then(|node| self.group_of(&node, settings));
        Located { occurrence, node: node.ok(), target: target.unwrap_or_else(Target::Unresolved) }
    }

    /// Where hosts are trusted and the pod is gone, it is about its host: pods can be invented, and a host that names
    /// many of them counts as one object.
    fn about_an_object(&self, occurrence: Occurrence, settings: &Settings) -> Occurrence {
        if !settings.trust_event_host
            || matches!(occurrence.involved, Involved::Node(_))
            || self.pod_of(&occurrence.involved).is_some()
        {
            return occurrence;
        }
        match occurrence.host.clone().filter(|host| self.node(host).is_some()) {
            Some(host) => Occurrence { involved: Involved::Node(host), host: None, ..occurrence },
            None => occurrence,
        }
    }

    fn node_of(&self, occurrence: &Occurrence, settings: &Settings) -> Result<Arc<str>, String> {
        if let Involved::Node(name) = &occurrence.involved {
            return Ok(Arc::clone(name));
        }
        let why = match self.pod_of(&occurrence.involved) {
            Some(pod) => match &pod.node {
                Some(node) => return Ok(Arc::clone(node)),
                None => messages::POD_WITHOUT_NODE,
            },
            None if settings.trust_event_host => messages::POD_NOT_FOUND,
            None => messages::HOST_NOT_TRUSTED,
        };
        Err(why.to_owned())
    }

    fn pod_of(&self, involved: &Involved) -> Option<Arc<Pod>> {
        let Involved::Pod { namespace, name, uid } = involved else { return None };
        let key = ObjectKey { namespace: Arc::clone(namespace), name: Arc::clone(name) };
        let pod = self.pods.get(&key)?.known().cloned()?;
        uid.is_none_or(|uid| uid == hash_of(&pod.meta.uid.0)).then_some(pod)
    }

    fn node(&self, name: &Arc<str>) -> Option<Arc<Node>> {
        let key = ObjectKey { namespace: "".into(), name: Arc::clone(name) };
        self.nodes.get(&key)?.known().cloned()
    }

    fn group_of(&self, name: &Arc<str>, settings: &Settings) -> Result<Target, String> {
        let node = self.node(name).ok_or_else(|| messages::node_not_found(name))?;
        if !settings.groups.has_labels(&node.labels) {
            return Ok(Target::Ignored);
        }
        let provider_id = node.provider_id.as_deref();
        let provider_id = provider_id.ok_or_else(|| messages::no_provider_id(name))?;
        let Some(instance) = self.cloud.locate(provider_id) else { return Ok(Target::Ignored) };
        let region = settings.region.clone().or_else(|| self.region.clone());
        let region = region.or_else(|| node.labels.get(LABEL_REGION).map(Arc::from));
        let region = region.or(instance.region).ok_or_else(|| messages::no_region(name))?;
        let id = &*instance.id.0;
        match self.group_membership.get(&region, &instance.id) {
            Observed::Present(group) if settings.groups.has_name(&group) => {
                Ok(Target::Group(GroupRef::new(region, group)))
            }
            Observed::Present(_) => Ok(Target::Ignored),
            Observed::Absent => Err(messages::no_group(id)),
            Observed::NotAsked => Err(messages::group_pending(id)),
            Observed::Unknown(why) => Err(messages::group_unknown(id, &why)),
        }
    }
}
