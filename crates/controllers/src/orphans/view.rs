//! What the cluster knows about its instances.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_provider::cloud::ProviderStatus;
use serde_json::Value;

use crate::kinds::{Machine, Node};

#[derive(Debug, Clone)]
pub struct View {
    /// The cluster's identity in tags.
    pub cluster: Arc<str>,
    pub machines: Vec<KnownMachine>,
    /// Machines that cannot be decoded: what they are known by.
    pub undecodable: Vec<(ObjectKey, Uid)>,
    pub nodes: Vec<KnownNode>,
    /// A time before any part of the view and the list of instances were read.
    pub as_of: Timestamp,
    /// Each of them prevents every deletion.
    pub doubts: Vec<Doubt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownMachine {
    pub key: ObjectKey,
    pub uid: Uid,
    pub deleting: bool,
    pub provider_id: Option<Arc<str>>,
    /// The texts in `status.providerStatus`. One of them is the id of the instance.
    pub stored: Vec<String>,
    /// The stored create attempt.
    pub attempt: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNode {
    pub name: Arc<str>,
    pub provider_id: Option<Arc<str>>,
    pub internal_ips: Vec<Arc<str>>,
}

/// Why what is known does not suffice to delete anything, or one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// An object cannot be decoded, and may name any instance.
    Undecodable { kind: &'static str, key: ObjectKey },
    /// A kind could not be read.
    NotRead { kind: &'static str, why: String },
    /// Only this namespace was read.
    OneNamespace(String),
    /// More than half of the instances are orphans: rather, these are not their Machines.
    MostUnknown { orphans: usize, listed: usize },
    /// Machines have instances, and none of them is listed: rather, these are the instances of another cluster.
    NoneKnown,
    /// Its idempotency token is not that of a launch, so its tags may be copies.
    NotLaunched,
}

impl KnownMachine {
    pub(super) fn of(machine: &Machine) -> Self {
        let status = ProviderStatus::read(machine.status.provider_status.as_deref());
        let texts = status.0.values().filter_map(Value::as_str);
        Self {
            key: machine.meta.key.clone(),
            uid: machine.meta.uid.clone(),
            deleting: machine.meta.deleting,
            provider_id: machine.provider_id.clone(),
            stored: texts.map(str::to_owned).collect(),
            attempt: status.attempt(),
        }
    }

    /// Everything that may be the id or the provider ID of its instance.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let provider_id = self.provider_id.as_deref();
        let id = provider_id.and_then(last_segment);
        provider_id.into_iter().chain(id).chain(self.stored.iter().map(String::as_str))
    }
}

impl KnownNode {
    pub(super) fn of(node: &Node) -> Self {
        Self {
            name: Arc::clone(&node.meta.key.name),
            provider_id: node.provider_id.clone(),
            internal_ips: node.internal_ips.to_vec(),
        }
    }

    /// Everything that may be an id or address of its instance. A Node with a provider ID is known by that alone,
    /// because names and addresses are used again.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let provider_id = self.provider_id.as_deref();
        let unnamed = provider_id.is_none().then_some(self);
        let addresses = unnamed.into_iter().flat_map(|node| {
            std::iter::once(&*node.name).chain(node.internal_ips.iter().map(|ip| &**ip))
        });
        provider_id.into_iter().chain(provider_id.and_then(last_segment)).chain(addresses)
    }
}

fn last_segment(provider_id: &str) -> Option<&str> {
    provider_id.rsplit('/').next().filter(|segment| !segment.is_empty())
}
