//! What a cloud says about a group of nodes and about its members.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::refresh::Refresh;
use crate::cloud::InstanceState;

/// The cloud's name for an instance, as `i-0123456789abcdef0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub Arc<str>);

/// The cloud's name for a group. Two regions may have groups of the same name: see [`GroupRef`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(pub Arc<str>);

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupRef {
    /// Where it is.
    pub region: Arc<str>,
    /// What it is called there.
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
    /// Its name.
    pub name: GroupName,
    /// Its name in the whole cloud; a group that is made again under the same name has another one.
    pub arn: Arc<str>,
    /// How large it may be and should be.
    pub sizes: Sizes,
    /// What is in it, sorted by id, warm members left out.
    pub members: Vec<Member>,
    /// What the group does not do at present, because somebody told it so.
    pub suspended: BTreeSet<Process>,
    /// Instances that wait to be used, if it keeps any.
    pub warm_pool: Option<WarmPool>,
    /// Who is asked before members come or go.
    pub hooks: Vec<Hook>,
    /// The text that [`mark`](super::NodeGroups::mark) stored on it.
    pub mark: Option<String>,
    /// Whether EKS keeps it (a managed node group).
    pub managed_by_eks: bool,
    /// The newest refresh, running or not.
    pub refresh: Option<Refresh>,
    /// Whether it is being deleted.
    pub deleting: bool,
}

impl Group {
    /// The hooks that are asked before a member comes or goes.
    pub fn hooks_at(&self, transition: Transition) -> impl Iterator<Item = &Hook> {
        self.hooks.iter().filter(move |hook| hook.transition == transition)
    }
}

/// How large a group may be and should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
    /// What it should have now.
    pub desired: u32,
}

impl Sizes {
    /// Nothing at all.
    pub const ZERO: Self = Self { min: 0, max: 0, desired: 0 };
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "min {} max {} desired {}", self.min, self.max, self.desired)
    }
}

/// An instance in a group, as the group sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Which instance.
    pub id: InstanceId,
    /// Where it runs.
    pub zone: Arc<str>,
    /// Whether it comes, stays or goes.
    pub lifecycle: Lifecycle,
    /// Whether the group thinks that it is well.
    pub healthy: bool,
    /// Whether the group may not choose it when it becomes smaller. It can be terminated by name all the same.
    pub protected_from_scale_in: bool,
    /// How much of the group's size it makes up: one, unless its instances have weights.
    pub weight: u32,
}

/// Whether a member comes, stays or goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// It is being made, or waits for a hook.
    Pending,
    /// It is in use.
    InService,
    /// It is going, or waits for a hook on its way out.
    Terminating,
    /// It is gone.
    Terminated,
    /// It was taken out of use for a while and still belongs to the group.
    Standby,
    /// Something else, in the cloud's own word: it is being attached, detached, quarantined.
    Other(Arc<str>),
}

impl Lifecycle {
    /// Whether it is on its way out, or gone.
    pub fn is_leaving(&self) -> bool {
        matches!(self, Self::Terminating | Self::Terminated)
    }
}

/// Something that a group does by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Process {
    /// Making members. Suspended: nothing that goes is replaced.
    Launch,
    /// Removing members. Suspended: nothing goes, not even by name.
    Terminate,
    /// Replacing members that are not well.
    ReplaceUnhealthy,
    /// Anything else, in the cloud's own word.
    Other(Arc<str>),
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Launch => "Launch",
            Self::Terminate => "Terminate",
            Self::ReplaceUnhealthy => "ReplaceUnhealthy",
            Self::Other(word) => word,
        })
    }
}

/// Instances that wait to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmPool {
    /// How many there are now.
    pub size: u32,
    /// At least this many are kept.
    pub min: u32,
    /// What they do while they wait, in the cloud's own word: `Stopped`, `Running`, `Hibernated`.
    pub state: Arc<str>,
    /// Whether members that are taken out of use go back into it instead of being terminated.
    pub reuses: bool,
}

/// Somebody who is asked before a member comes or goes, and may take his time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Its name.
    pub name: Arc<str>,
    /// When it is asked.
    pub transition: Transition,
    /// How long the group waits for it, if it says nothing.
    pub patience: Duration,
    /// Whether the group goes on (`CONTINUE`) after that, or gives the member up (`ABANDON`).
    pub continues: bool,
}

/// When a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    /// Before a new member is put to use.
    Launching,
    /// Before a member goes.
    Terminating,
}

/// What the cloud says about one instance, in a group or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceFacts {
    /// Which instance.
    pub id: InstanceId,
    /// What it is doing.
    pub state: InstanceState,
    /// The group that it says it belongs to.
    pub group: Option<GroupName>,
    /// The name of the node group as people know it, where EKS or eksctl wrote it on the instance.
    pub node_group: Option<Arc<str>>,
    /// The cluster, where EKS or eksctl wrote it on the instance.
    pub cluster: Option<Arc<str>>,
    /// The cloud's name for its size.
    pub instance_type: Option<Arc<str>>,
    /// Where it runs.
    pub zone: Option<Arc<str>>,
    /// When it was started.
    pub launched: Option<jiff::Timestamp>,
}
