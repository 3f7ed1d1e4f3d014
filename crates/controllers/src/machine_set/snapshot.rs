use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;

use crate::kinds::{Machine, MachineSetState};
use crate::machine_node::{ReadySince, available_at};
use crate::preservation::Preserved;
use crate::served::Field;

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub meta: Meta,
    /// The content, or why it cannot be decoded.
    pub content: Result<View, String>,
    /// Whether the feature gate MachineAPIMigration is on, by the flag or by OpenShift's FeatureGate.
    pub obey_migration: bool,
    /// Whether the served CRD has `status.authoritativeAPI`.
    pub authority_field: Field,
    /// Whether the served schema has `status.conditions`.
    pub conditions_field: Field,
}

/// Nothing here is stale because of an own write: keys whose last write was not answered were read live.
#[derive(Debug, Clone)]
pub struct View {
    pub set: Arc<MachineSetState>,
    pub members: Vec<Member>,
    /// Machines without a controller owner that the selector matches.
    pub orphans: Vec<Arc<Machine>>,
    /// Machines of the set that the selector no longer matches.
    pub unselected: Vec<Arc<Machine>>,
    /// Orphans that cannot be decoded, or whose adoption failed a moment ago. They run, so no other Machines are
    /// created in their place.
    pub unadopted_orphans: usize,
    /// Why a Machine is not in these lists: it cannot be decoded, or adopting or releasing it failed and it has not
    /// changed since.
    pub claim_failure: Option<Arc<str>>,
    /// When to try that again although the Machine has not changed.
    pub claim_retry: Option<Duration>,
    /// Ordinals in the window for which no Machine exists.
    pub open_ordinals: Vec<u64>,
    /// How many Machines with an ordinal in the window are being deleted.
    pub leaving_ordinals: usize,
    pub highest_ordinal: Option<u64>,
    pub in_flight: InFlight,
    /// Whether the Machines were listed live for this generation of the set, and no Machine was deleted since.
    pub listed: bool,
    /// How long to hold back a status update that changes only counts.
    pub hold_counts: Duration,
}

/// What is known about creates in the window that were not answered, or that another process may have sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InFlight {
    /// There are none, or the cache has what they have created.
    No,
    /// The API server may still execute them, for this time.
    Maybe(Duration),
    /// They were executed or never will be; only a list shows which, because the watch may be behind.
    Unlisted,
}

/// A Machine that counts as a replica.
#[derive(Debug, Clone)]
pub struct Member {
    pub key: ObjectKey,
    /// `None` if it cannot be decoded. Such a Machine counts and is never deleted.
    pub seen: Option<Seen>,
}

#[derive(Debug, Clone)]
pub struct Seen {
    pub machine: Arc<Machine>,
    /// Since when its Node has been ready; `None` if it is not.
    pub ready: Option<ReadySince>,
    /// `machinist.dev/preserve` of its Node.
    pub preserve_on_node: Option<Arc<str>>,
}

impl Member {
    /// `None` if it may be deleted; that a Machine cannot be decoded is not considered here.
    pub(super) fn preserved(&self, now: Timestamp) -> Option<Preserved> {
        let seen = self.seen.as_ref()?;
        Preserved::of(&seen.machine, seen.preserve_on_node.as_deref(), now)
    }
}

impl Seen {
    /// When it has been ready for `min_ready`, possibly in the past; `None` if it is not ready or the time is unknown.
    pub fn available_at(&self, min_ready: SignedDuration) -> Option<Timestamp> {
        available_at(self.ready, min_ready)
    }
}
