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
    /// Which instance.
    pub id: InstanceId,
    /// Its region, if the provider ID names one.
    pub region: Option<Arc<str>>,
}

/// A group name. It is unique within a region: see [`GroupRef`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(pub Arc<str>);

/// A group in a region.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupRef {
    /// The region.
    pub region: Arc<str>,
    /// The name.
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
    /// A group of this name in this region.
    pub fn new(region: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { region: region.into(), name: GroupName(name.into()) }
    }
}

impl fmt::Display for GroupRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.region, self.name)
    }
}

/// A group of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The name.
    pub name: GroupName,
    /// The sizes.
    pub sizes: Sizes,
    /// The members, sorted by id, without warm-pool instances.
    pub members: Vec<Member>,
    /// Suspended processes. Without `Launch` no member is replaced, without `Terminate` none is terminated, not even by
    /// id.
    pub suspended: BTreeSet<Arc<str>>,
    /// The warm pool.
    pub warm_pool: Option<WarmPool>,
    /// The lifecycle hooks.
    pub hooks: Vec<Hook>,
    /// The text that [`Mark`](super::GroupChange::Mark) stored.
    pub mark: Option<String>,
    /// Whether it is an EKS managed node group.
    pub managed_by_eks: bool,
    /// The latest refresh, running or not.
    pub refresh: Option<Refresh>,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The instance.
    pub id: InstanceId,
    /// The lifecycle state.
    pub lifecycle: Lifecycle,
    /// The health status.
    pub healthy: bool,
    /// Whether scale-in does not choose it. It can be terminated by id all the same.
    pub protected_from_scale_in: bool,
    /// Its share of the desired capacity: one, unless the group uses weights.
    pub weight: u32,
}

/// The lifecycle state of a member.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// Launching, or waiting for a hook.
    Pending,
    /// In service.
    InService,
    /// Terminating, or waiting for a hook.
    Terminating,
    /// Terminated.
    Terminated,
    /// In standby: out of service, still a member.
    Standby,
    /// Another state: attaching, detaching, quarantined.
    Other(Arc<str>),
}

impl Lifecycle {
    /// Whether it is terminating or terminated.
    pub fn is_leaving(&self) -> bool {
        matches!(self, Self::Terminating | Self::Terminated)
    }
}

/// A warm pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmPool {
    /// The current size.
    pub size: u32,
    /// Whether members return to it on scale-in instead of being terminated.
    pub reuses: bool,
}

/// A lifecycle hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The name.
    pub name: Arc<str>,
    /// The transition: `Launching` or `Terminating`.
    pub transition: &'static str,
    /// The heartbeat timeout.
    pub patience: Duration,
}

/// An instance refresh: the cloud replaces all members by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// The id.
    pub id: Arc<str>,
    /// The status.
    pub status: RefreshStatus,
    /// The percentage that is complete.
    pub percentage: u8,
    /// The cloud's reason for the status.
    pub reason: Option<String>,
}

/// The status of a refresh.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RefreshStatus {
    /// Waiting for another activity of the group.
    Pending,
    /// In progress.
    InProgress,
    /// Successful.
    Successful,
    /// Failed.
    Failed,
    /// Being cancelled.
    Cancelling,
    /// Cancelled.
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
    /// The instance.
    pub id: InstanceId,
    /// The state.
    pub state: InstanceState,
    /// The group in its tags.
    pub group: Option<GroupName>,
    /// The node group name in the tags of EKS or eksctl.
    pub node_group: Option<Arc<str>>,
    /// The cluster name in the tags of EKS or eksctl.
    pub cluster: Option<Arc<str>>,
    /// The instance type.
    pub instance_type: Option<Arc<str>>,
    /// The zone.
    pub zone: Option<Arc<str>>,
}
