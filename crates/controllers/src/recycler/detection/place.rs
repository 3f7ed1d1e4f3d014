//! From an event to a node, an instance and its group, by what the caches know. Never waits.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use super::belongings::{Belonging, Belongings};
use super::counting::{Leads, News};
use super::occurrence::Occurrence;
use crate::kinds::{Node, Nodes, Pods, Whom, hash_of};
use crate::recycler::recycling::instance_of;
use crate::recycler::settings::Settings;

const LABEL_REGION: &str = "topology.kubernetes.io/region";

/// Where pods, nodes and instances belong.
#[derive(Debug)]
pub struct Places {
    /// Where pods run.
    pub pods: Arc<Cache<Pods>>,
    /// Which instance a node is.
    pub nodes: Arc<Cache<Nodes>>,
    /// In which group an instance is.
    pub belongings: Belongings,
    /// The region that this process is in, if it knows.
    pub region: Option<Arc<str>>,
}

impl Places {
    /// Finds out where something leads that happened.
    pub fn locate(&self, occurrence: Occurrence, settings: &Settings) -> News {
        let found = self.node_of(&occurrence);
        let (node, leads) = match found {
            Ok(node) => {
                let leads = self.group_of(&node, settings).unwrap_or_else(Leads::Open);
                (Some(node), leads)
            }
            Err(why) => (None, Leads::Open(why)),
        };
        News { occurrence, node, leads }
    }

    fn node_of(&self, occurrence: &Occurrence) -> Result<Arc<str>, String> {
        let (namespace, name, uid) = match &occurrence.whom {
            Whom::Node(name) => return Ok(Arc::clone(name)),
            Whom::Pod { namespace, name, uid } => (namespace, name, uid),
        };
        let key = ObjectKey { namespace: Arc::clone(namespace), name: Arc::clone(name) };
        if let Some(Entry::Known(pod)) = self.pods.get(&key)
            && uid.is_none_or(|uid| uid == hash_of(&pod.meta.uid.0))
        {
            return pod.node.clone().ok_or_else(|| "the pod has no node yet".to_owned());
        }
        // Another pod of that name, or none: whoever saw it was on the same node, if it was a kubelet.
        let host = occurrence.host.as_ref().filter(|host| self.node(host).is_some());
        host.cloned().ok_or_else(|| "the pod is not there, and the event names no node".to_owned())
    }

    fn node(&self, name: &Arc<str>) -> Option<Arc<Node>> {
        let key = ObjectKey { namespace: "".into(), name: Arc::clone(name) };
        match self.nodes.get(&key)? {
            Entry::Known(node) => Some(node),
            Entry::Undecodable(_) => None,
        }
    }

    fn group_of(&self, name: &Arc<str>, settings: &Settings) -> Result<Leads, String> {
        let node = self.node(name).ok_or_else(|| format!("there is no node {name}"))?;
        if !settings.groups.has_labels(&node.labels) {
            return Ok(Leads::Nowhere);
        }
        let provider_id = node
            .provider_id
            .as_deref()
            .ok_or_else(|| format!("node {name} has no providerID yet"))?;
        let Some(instance) = instance_of(provider_id) else { return Ok(Leads::Nowhere) };
        let region = settings.region.clone().or_else(|| self.region.clone());
        let region = region.or_else(|| region_of(&node, provider_id));
        let region = region.ok_or_else(|| format!("nobody says in which region node {name} is"))?;
        match self.belongings.look(&region, instance) {
            Belonging::Group(group) if settings.groups.has_name(&group) => {
                Ok(Leads::To(GroupRef::new(region, group)))
            }
            Belonging::Group(_) => Ok(Leads::Nowhere),
            Belonging::NoGroup => Err(format!("instance {instance} is in no Auto Scaling group")),
            Belonging::NotYet => {
                Err(format!("the group of instance {instance} is being asked for"))
            }
            Belonging::Unknown(why) => Err(format!("the group of instance {instance}: {why}")),
        }
    }
}

/// The region that a node says it is in, or that its zone is in.
fn region_of(node: &Node, provider_id: &str) -> Option<Arc<str>> {
    if let Some(region) = node.labels.get(LABEL_REGION) {
        return Some(region.into());
    }
    let zone = provider_id.strip_prefix("aws://")?.trim_start_matches('/').split('/').next()?;
    region_of_zone(zone).map(Arc::from)
}

/// `us-east-1a` is in `us-east-1`, and so is the local zone `us-east-1-bos-1a`: a region ends with its first number.
fn region_of_zone(zone: &str) -> Option<&str> {
    let number = zone.find(|c: char| c.is_ascii_digit()).filter(|at| *at > 3)?;
    let digits = zone.get(number..)?.bytes().take_while(u8::is_ascii_digit).count();
    zone.get(..number + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_in_regions() {
        for (zone, region) in [
            ("us-east-1a", Some("us-east-1")),
            ("us-east-1-bos-1a", Some("us-east-1")),
            ("us-gov-west-1b", Some("us-gov-west-1")),
            ("ap-southeast-12c", Some("ap-southeast-12")),
            ("i-0123456789abcdef0", None),
            ("zone", None),
            ("", None),
        ] {
            assert_eq!(region_of_zone(zone), region, "{zone}");
        }
    }

    /// kaws's own table, and what it got wrong.
    #[test]
    fn instances_are_found_in_provider_ids() {
        for (provider_id, instance) in [
            ("aws:///us-east-1a/i-1234567890abcdef0", Some("i-1234567890abcdef0")),
            ("aws:///i-0987654321fedcba0", Some("i-0987654321fedcba0")),
            ("aws:///us-east-1a/zone-extra/i-complexid123456", Some("i-complexid123456")),
            ("invalid-format", None),
            ("aws:///us-east-1a/i-", None),
            ("", None),
        ] {
            assert_eq!(instance_of(provider_id), instance, "{provider_id}");
        }
    }
}
