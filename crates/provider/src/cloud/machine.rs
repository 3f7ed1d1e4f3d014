//! The view of a Machine that a provider gets.

use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Uid};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::access::CloudAccess;

#[derive(Debug, Clone)]
pub struct MachineRef {
    /// Namespace and name, for names and tags; not for identity.
    pub key: ObjectKey,
    pub uid: Uid,
    /// The create attempt, from 1. Uid and attempt make a create idempotent.
    pub attempt: u32,
    /// The cluster's identity, for tags.
    pub cluster: Arc<str>,
    /// The cluster name in the Machine's label, if it differs; other controllers may have used it in tags.
    pub cluster_label: Option<Arc<str>>,
    pub access: CloudAccess,
    pub spec: Arc<RawValue>,
    pub provider_id: Option<Arc<str>>,
    pub status: ProviderStatus,
    pub created: jiff::Timestamp,
}

impl MachineRef {
    /// All names of the cluster, its identity first. Use them to recognise resources; new ones carry the identity.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.cluster).chain(self.cluster_label.as_deref())
    }
}

/// `status.providerStatus`, a JSON object. During and after a create it has a `launch` with its `attempt` and, where
/// attempts may differ in it, `zone` or `subnet`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderStatus(pub Map<String, Value>);

impl ProviderStatus {
    /// Reads the stored value; anything but an object counts as empty.
    pub fn read(raw: Option<&RawValue>) -> Self {
        let value = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self(value.unwrap_or_default())
    }

    /// The stored attempt, if [`Cloud::prepare`](super::Cloud::prepare) has succeeded.
    pub fn attempt(&self) -> Option<u32> {
        let attempt = self.0.get("launch")?.get("attempt")?.as_u64()?;
        u32::try_from(attempt).ok()
    }

    /// The zone and subnet of the stored attempt.
    pub fn place(&self) -> Option<String> {
        let launch = self.0.get("launch")?;
        let part = |name| launch.get(name).and_then(Value::as_str);
        let parts: Vec<_> = ["zone", "subnet"].into_iter().filter_map(part).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
