//! What was observed of one MachineSet and its machines.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;

use crate::kinds::{Machine, MachineSetState};
use crate::served::Field;

/// One MachineSet and its machines.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Identity and version, known even if nothing else is.
    pub meta: Meta,
    /// What it says, and what there is of it.
    pub content: Content,
    /// Whether to keep off objects that another machine API is in charge of.
    pub obey_migration: bool,
    /// Whether the served schema has `status.authoritativeAPI`.
    pub authority_field: Field,
}

/// What is known of a MachineSet.
#[derive(Debug, Clone)]
pub enum Content {
    /// It can be read.
    Read(Family),
    /// It cannot be decoded, for this reason.
    Undecodable(String),
}

/// A set and its machines. What is said of machines here is certain: where an answer was lost they were read live.
#[derive(Debug, Clone)]
pub struct Family {
    /// What the set says.
    pub says: Arc<MachineSetState>,
    /// Machines that count.
    pub members: Vec<Member>,
    /// Machines that nobody manages and that the set selects.
    pub orphans: Vec<Arc<Machine>>,
    /// Machines of the set that it does not select any more.
    pub strays: Vec<Arc<Machine>>,
    /// Why one of those that the set selects, or selects no more, is not among them: it could not be adopted or released, and has not changed.
    pub refusal: Option<Arc<str>>,
    /// After this time one of them is tried again, although it has not changed.
    pub claim_again: Option<Duration>,
    /// Ordinals of the window under whose names nothing exists.
    pub open: Vec<u64>,
    /// The highest ordinal of a machine of the set that exists.
    pub highest: Option<u64>,
    /// Whether the machines were listed since the set has had this spec.
    pub looked: bool,
    /// How long counts that still change are not worth another write.
    pub hold_counts: Duration,
}

/// A machine that counts.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name.
    pub key: ObjectKey,
    /// What is known of it; `None` if it cannot be decoded. Then it counts, and nothing is done to it.
    pub seen: Option<Seen>,
}

/// What is known of a machine.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The machine.
    pub machine: Arc<Machine>,
    /// Its Node, if it is ready.
    pub ready: Option<ReadySince>,
}

/// Since when a Node has been ready; `None` where nobody said.
pub type ReadySince = Option<Timestamp>;

impl Seen {
    /// When the machine has been ready for `min_ready`, which may be past; `None` if it is not ready, or nobody knows since when.
    pub fn available_at(&self, min_ready: SignedDuration) -> Option<Timestamp> {
        match self.ready? {
            _ if min_ready.is_zero() => Some(Timestamp::MIN),
            Some(since) => since.checked_add(min_ready).ok(),
            None => None,
        }
    }
}
