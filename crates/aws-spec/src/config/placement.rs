//! Region, zone, tenancy, dedicated host.

use serde::Deserialize;

use super::machine::Tag;
use super::or_default;

/// The placement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    /// The region.
    #[serde(deserialize_with = "or_default")]
    pub region: String,
    /// The zone; empty: that of the subnet.
    #[serde(deserialize_with = "or_default")]
    pub availability_zone: String,
    /// `default`, `dedicated`, `host` or empty.
    #[serde(deserialize_with = "or_default")]
    pub tenancy: String,
    /// The dedicated host.
    pub host: Option<HostPlacement>,
}

/// The placement on a dedicated host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostPlacement {
    /// `AnyAvailable` or `DedicatedHost`.
    pub affinity: Option<String>,
    /// The host.
    pub dedicated_host: Option<DedicatedHost>,
}

impl HostPlacement {
    /// Whether a stopped instance restarts on the same host.
    pub fn is_bound(&self) -> bool {
        self.affinity.as_deref() == Some("DedicatedHost")
    }

    /// The id of a given host.
    pub fn provided(&self) -> Option<&str> {
        let host = self.dedicated_host.as_ref().filter(|host| !host.is_dynamic())?;
        host.id.as_deref().filter(|id| !id.is_empty())
    }

    /// Whether a host is allocated for the machine.
    pub fn is_dynamic(&self) -> bool {
        self.dedicated_host.as_ref().is_some_and(DedicatedHost::is_dynamic)
    }

    /// The tags of an allocated host.
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
    /// The id of a given host.
    pub id: Option<String>,
    /// How a dynamic host is allocated.
    pub dynamic_host_allocation: Option<DynamicHost>,
}

impl DedicatedHost {
    /// Whether the host is allocated for the machine and released with it.
    pub fn is_dynamic(&self) -> bool {
        self.allocation_strategy.as_deref() == Some("Dynamic")
    }
}

/// An allocated host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DynamicHost {
    /// Additional tags.
    #[serde(deserialize_with = "or_default")]
    pub tags: Vec<Tag>,
}
