use serde::Deserialize;

use super::machine::Tag;
use super::or_default;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    #[serde(deserialize_with = "or_default")]
    pub region: String,
    /// The zone; empty: that of the subnet.
    #[serde(deserialize_with = "or_default")]
    pub availability_zone: String,
    /// `default`, `dedicated`, `host` or empty.
    #[serde(deserialize_with = "or_default")]
    pub tenancy: String,
    pub host: Option<HostPlacement>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostPlacement {
    /// `AnyAvailable` or `DedicatedHost`.
    pub affinity: Option<String>,
    pub dedicated_host: Option<DedicatedHost>,
}

impl HostPlacement {
    /// Whether a stopped instance restarts on the same host.
    pub fn is_bound(&self) -> bool {
        self.affinity.as_deref() == Some("DedicatedHost")
    }

    pub fn provided(&self) -> Option<&str> {
        let host = self.dedicated_host.as_ref().filter(|host| !host.is_dynamic())?;
        host.id.as_deref().filter(|id| !id.is_empty())
    }

    pub fn is_dynamic(&self) -> bool {
        self.dedicated_host.as_ref().is_some_and(DedicatedHost::is_dynamic)
    }

    pub fn tags(&self) -> &[Tag] {
        let host = self.dedicated_host.as_ref();
        let dynamic = host.and_then(|host| host.dynamic_host_allocation.as_ref());
        dynamic.map_or(&[], |dynamic| &dynamic.tags)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DedicatedHost {
    /// `UserProvided` (default) or `Dynamic`.
    pub allocation_strategy: Option<String>,
    pub id: Option<String>,
    pub dynamic_host_allocation: Option<DynamicHost>,
}

impl DedicatedHost {
    /// Whether the host is allocated for the machine and released with it.
    pub fn is_dynamic(&self) -> bool {
        self.allocation_strategy.as_deref() == Some("Dynamic")
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DynamicHost {
    #[serde(deserialize_with = "or_default")]
    pub tags: Vec<Tag>,
}
