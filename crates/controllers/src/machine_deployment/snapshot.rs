use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::MARKED_BY_DEPLOYMENT;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::meta::Meta;
use machinist_domain::report::EventReason;

use crate::deletion_order::{self, Class, is_marked_by_others};
use crate::in_place;
use crate::kinds::{Machine, MachineDeployment, MachineSet, Node};
use crate::machine_node::{ReadySince, available_at};
use crate::preservation::{self, Preserved};

/// The value of our mark on Machines; cluster-autoscaler writes a time.
pub(super) const MARK: &str = MARKED_BY_DEPLOYMENT;

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub meta: Meta,
    pub content: Result<View, Missing>,
}

/// Why there is no content.
#[derive(Debug, Clone)]
pub enum Missing {
    Undecodable(String),
    /// It is deleted, and these Nodes still have its marks although their Machines are not deleted with it.
    Deleted(Vec<Arc<Node>>),
}

#[derive(Debug, Clone)]
pub struct View {
    pub deployment: Arc<MachineDeployment>,
    /// Its MachineSets, also those that are being deleted, the oldest first.
    pub sets: Vec<SetView>,
    pub nodes: NodesView,
    /// One of the Machines that are being deleted, while its Node is drained.
    pub drained: Option<Arc<str>>,
    /// MachineSets without an owner that the selector matches.
    pub orphans: Vec<Arc<MachineSet>>,
    /// MachineSets of the deployment that the selector no longer matches.
    pub unselected: Vec<Arc<MachineSet>>,
    /// A MachineSet of the deployment that cannot be decoded, so its Machines cannot be counted.
    pub undecodable: Option<ObjectKey>,
    /// An older MachineDeployment that selects the same MachineSets.
    pub overlaps: Option<ObjectKey>,
    pub refused: Refused,
    /// A set may have been scaled down that had more Machines than were in the view.
    pub doubtful: bool,
    /// The Machines were listed live in this state of the deployment and its sets.
    pub listed: bool,
    /// That state.
    pub fingerprint: u64,
    /// The uptime of the observation.
    pub uptime: Duration,
    /// How often the cache is asked again where a Machine is that is being moved.
    pub move_poll: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct NodesView {
    /// Those of Machines that are not being deleted, with the position of their set.
    pub members: Vec<(usize, Arc<Node>)>,
    /// Those with marks of the deployment whose Machines are not in it any more.
    pub strays: Vec<Arc<Node>>,
    /// They could not be written a moment ago.
    pub trouble: Option<NodeTrouble>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTrouble {
    /// The cause, if a person has to do something about it.
    pub cause: Option<String>,
    /// Until when they are left alone.
    pub until: Duration,
}

/// Objects whose last write was refused. It is not repeated for a while, so that it does not hold up scaling.
#[derive(Debug, Clone, Default)]
pub struct Refused {
    pub objects: HashSet<Uid>,
    /// MachineSets among the orphans, with Machines that count although they are not adopted.
    pub orphans: Vec<SetView>,
    /// Of the first one.
    pub cause: Option<(EventReason, Arc<str>)>,
    /// After which time one of them is tried again.
    pub retry: Option<Duration>,
}

impl Refused {
    pub fn has(&self, meta: &Meta) -> bool {
        self.objects.contains(&meta.uid)
    }
}

#[derive(Debug, Clone)]
pub struct SetView {
    pub set: Arc<MachineSet>,
    /// Machines that are not being deleted.
    pub members: Vec<Member>,
    /// How many Machines are being deleted.
    pub leaving: usize,
    /// How many Machines may be in creation.
    pub open: usize,
    /// The set may still get these sizes.
    pub late: Option<LateSizes>,
}

/// The least and the most of the sizes that were written without an answer, and until when they may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateSizes {
    pub least: usize,
    pub most: usize,
    pub until: Duration,
}

#[derive(Debug, Clone)]
pub struct Member {
    pub key: ObjectKey,
    /// `None` if it cannot be decoded.
    pub machine: Option<Arc<Machine>>,
    /// Since when its Node has been ready; `None` if it is not.
    pub ready: Option<ReadySince>,
    /// Since when its Node has not been ready; `None` without one.
    pub unready_since: Option<Timestamp>,
    /// `machinist.dev/preserve` of its Node.
    pub preserve_on_node: Option<Arc<str>>,
}

impl Member {
    /// When it has been ready for `min_ready`, possibly in the past.
    pub fn available_at(&self, min_ready: SignedDuration) -> Option<Timestamp> {
        if self.has_failed() || self.machine.as_deref().is_some_and(in_place::is_unavailable) {
            return None;
        }
        available_at(self.ready, min_ready)
    }

    /// `None` if its MachineSet may delete it.
    pub(super) fn preserved(&self, now: Timestamp) -> Option<Preserved> {
        Preserved::of(self.machine.as_deref()?, self.preserve_on_node.as_deref(), now)
    }

    /// Whether a MachineSet deletes it first.
    pub fn is_marked(&self) -> bool {
        self.machine.as_deref().is_some_and(deletion_order::is_marked)
    }

    /// Whether it is marked by this controller alone.
    pub fn is_marked_by_us(&self) -> bool {
        let marked_by_others = self.machine.as_deref().is_some_and(is_marked_by_others);
        self.is_marked() && !marked_by_others
    }

    /// Whether its MachineSet deletes it before any available one, whatever its `deletePolicy` is. One without a Node
    /// may have one meanwhile.
    pub(super) fn goes_first(&self) -> bool {
        self.machine.as_deref().is_some_and(|machine| Class::of(machine) < Class::WithoutNode)
    }

    pub fn has_failed(&self) -> bool {
        self.machine.as_deref().is_some_and(preservation::has_failed)
    }
}
