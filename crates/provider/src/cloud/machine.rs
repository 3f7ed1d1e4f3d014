//! What a provider is told about a machine.

use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Uid};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::capacity::Realm;

/// A machine, as far as a provider needs to know it.
#[derive(Debug, Clone)]
pub struct MachineRef {
    /// Namespace and name: for names and tags that people read, never for identity.
    pub key: ObjectKey,
    /// Identity.
    pub uid: Uid,
    /// Which attempt at creating it this is, from 1. With the uid it is what makes a repeat a repeat.
    pub attempt: u32,
    /// The cluster's identity, for tags.
    pub cluster: Arc<str>,
    /// What the Machine's label calls the cluster, if that is another name: by it other controllers have marked what they made.
    pub cluster_label: Option<Arc<str>>,
    /// Whom to ask, as whom.
    pub realm: Realm,
    /// The provider's own part of the Machine.
    pub spec: Arc<RawValue>,
    /// What the Machine says is its instance (`spec.providerID`).
    pub provider_id: Option<Arc<str>>,
    /// What this provider stored on the Machine (`status.providerStatus`).
    pub status: ProviderStatus,
    /// When the Machine was created.
    pub created: jiff::Timestamp,
}

impl MachineRef {
    /// Every name that the cluster goes by, its identity first. To recognise things by; what is made carries the identity.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.cluster).chain(self.cluster_label.as_deref())
    }
}

/// What a provider stores on a machine: a JSON object of its own (`status.providerStatus`).
///
/// One part is fixed: while and after creating there is a `launch` object with the `attempt` that it belongs to and, where attempts may go to
/// different places, the `zone` or `subnet` that it goes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderStatus(pub Map<String, Value>);

impl ProviderStatus {
    /// Reads what is stored; anything but an object counts as nothing.
    pub fn read(raw: Option<&RawValue>) -> Self {
        let value = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self(value.unwrap_or_default())
    }

    /// The attempt whose values are stored, if [`Cloud::prepare`](super::Cloud::prepare) has been carried out.
    pub fn attempt(&self) -> Option<u32> {
        let attempt = self.0.get("launch")?.get("attempt")?.as_u64()?;
        u32::try_from(attempt).ok()
    }

    /// Where that attempt goes, if it says so.
    pub fn place(&self) -> Option<String> {
        let launch = self.0.get("launch")?;
        let part = |name| launch.get(name).and_then(Value::as_str);
        let parts: Vec<_> = ["zone", "subnet"].into_iter().filter_map(part).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
