//! Where an instance is to be: region, zone, tenancy, dedicated host.

use serde::Deserialize;

use super::machine::Tag;
use super::or_default;

/// Where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// The region.
    #[serde(deserialize_with = "or_default")]
    pub region: String,
    /// The zone; empty: wherever the subnet is.
    #[serde(deserialize_with = "or_default")]
    pub availability_zone: String,
    /// `default`, `dedicated`, `host` or empty.
    #[serde(deserialize_with = "or_default")]
    pub tenancy: String,
    /// The dedicated host.
    pub host: Option<HostPlacement>,
}

/// On which dedicated host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostPlacement {
    /// `AnyAvailable` or `DedicatedHost`.
    pub affinity: Option<String>,
    /// Which one.
    pub dedicated_host: Option<DedicatedHost>,
}

impl HostPlacement {
    /// Whether a stopped instance comes back on the same host.
    pub fn is_bound(&self) -> bool {
        self.affinity.as_deref() == Some("DedicatedHost")
    }

    /// The host that somebody provided.
    pub fn provided(&self) -> Option<&str> {
        let host = self.dedicated_host.as_ref().filter(|host| !host.is_dynamic())?;
        host.id.as_deref().filter(|id| !id.is_empty())
    }

    /// Whether the machine gets a host of its own.
    pub fn is_dynamic(&self) -> bool {
        self.dedicated_host.as_ref().is_some_and(DedicatedHost::is_dynamic)
    }

    /// The tags of a host of its own.
    pub fn tags(&self) -> &[Tag] {
        let host = self.dedicated_host.as_ref();
        let dynamic = host.and_then(|host| host.dynamic_host_allocation.as_ref());
        dynamic.map_or(&[], |dynamic| &dynamic.tags)
    }
}

/// A dedicated host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DedicatedHost {
    /// `UserProvided` (default) or `Dynamic`.
    pub allocation_strategy: Option<String>,
    /// Its id, where somebody provides it.
    pub id: Option<String>,
    /// How it is made, where it is dynamic.
    pub dynamic_host_allocation: Option<DynamicHost>,
}

impl DedicatedHost {
    /// Whether it is made for the machine, and goes with it.
    pub fn is_dynamic(&self) -> bool {
        self.allocation_strategy.as_deref() == Some("Dynamic")
    }
}

/// A host that is made for the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DynamicHost {
    /// Its tags, beside those of every host.
    #[serde(deserialize_with = "or_default")]
    pub tags: Vec<Tag>,
}
