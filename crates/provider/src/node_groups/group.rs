//! A group of nodes and its members.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Sizes;
use crate::cloud::InstanceState;

/// An instance id, as `i-0123456789abcdef0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub Arc<str>);

/// What a provider ID says about its instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceLocation {
    pub id: InstanceId,
    /// Its region, if the provider ID names one.
    pub region: Option<Arc<str>>,
}

/// A group name. It is unique within a region: see [`GroupRef`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(pub Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupRef {
    pub region: Arc<str>,
    pub name: GroupName,
}

macro_rules! is_text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
    };
}

is_text!(InstanceId);
is_text!(GroupName);

impl GroupRef {
    pub fn new(region: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { region: region.into(), name: GroupName(name.into()) }
    }
}

impl fmt::Display for GroupRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.region, self.name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: GroupName,
    pub sizes: Sizes,
    /// The members, sorted by id, without warm-pool instances.
    pub members: Vec<Member>,
    /// Without `Launch` no member is replaced, without `Terminate` none is terminated, not even by id.
    pub suspended: BTreeSet<Arc<str>>,
    pub warm_pool: Option<WarmPool>,
    pub hooks: Vec<Hook>,
    /// The text that [`Mark`](super::GroupChange::Mark) stored.
    pub mark: Option<String>,
    /// Whether it is an EKS managed node group.
    pub managed_by_eks: bool,
    /// The latest refresh, running or not.
    pub refresh: Option<Refresh>,
    pub deleting: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: InstanceId,
    pub lifecycle: Lifecycle,
    pub healthy: bool,
    /// Whether scale-in does not choose it. It can be terminated by id all the same.
    pub protected_from_scale_in: bool,
    /// Its share of the desired capacity: one, unless the group uses weights.
    pub weight: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// Launching, or waiting for a hook.
    Pending,
    InService,
    /// Terminating, or waiting for a hook.
    Terminating,
    Terminated,
    /// In standby: out of service, still a member.
    Standby,
    /// Another state: attaching, detaching, quarantined.
    Other(Arc<str>),
}

impl Lifecycle {
    pub fn is_leaving(&self) -> bool {
        matches!(self, Self::Terminating | Self::Terminated)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmPool {
    pub size: u32,
    /// Whether members return to it on scale-in instead of being terminated.
    pub reuses: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    pub name: Arc<str>,
    /// The transition: `Launching` or `Terminating`.
    pub transition: &'static str,
    /// The heartbeat timeout.
    pub patience: Duration,
}

/// An instance refresh: the cloud replaces all members by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    pub id: Arc<str>,
    pub status: RefreshStatus,
    pub percentage: u8,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RefreshStatus {
    /// Waiting for another activity of the group.
    Pending,
    InProgress,
    Successful,
    Failed,
    Cancelling,
    Cancelled,
    /// Another status; it counts as running.
    Other(Arc<str>),
}

impl RefreshStatus {
    /// Whether it may still replace members.
    pub fn is_running(&self) -> bool {
        !matches!(self, Self::Successful | Self::Failed | Self::Cancelled)
    }
}

/// An instance, in a group or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceFacts {
    pub id: InstanceId,
    pub state: InstanceState,
    /// The group in its tags.
    pub group: Option<GroupName>,
    /// The node group name in the tags of EKS or eksctl.
    pub node_group: Option<Arc<str>>,
    /// The cluster name in the tags of EKS or eksctl.
    pub cluster: Option<Arc<str>>,
    pub instance_type: Option<Arc<str>>,
    pub zone: Option<Arc<str>>,
}
