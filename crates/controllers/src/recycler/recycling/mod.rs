//! Recycles one node group: a part of the recycler with stages of its own.
//!
//! [`mod@begin`] has the conditions for a recycle, [`mark`] the plan as it is stored in the tags of the group.
//! [`mod@decide`] chooses the next single step. What must survive a crash is in the status of the EventRecycler and on
//! the group before it is acted upon. Not here: which groups are recycled and when, and writes of the status.

mod act;
mod begin;
mod decide;
mod group_cache;
pub(super) mod mark;
pub(super) mod messages;
mod observe;
mod plan;
mod report;
#[cfg(test)]
mod samples;
pub(super) mod snapshot;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::node_groups::NodeGroups;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::Session;
use parking_lot::Mutex;

pub(super) use self::begin::Refusal;
pub use self::begin::{Request, begin};
pub use self::decide::decide;
use self::group_cache::GroupCache;
pub use self::mark::Mark;
pub(super) use self::plan::{Action, Outcome, Plan};
pub(super) use self::report::RecycleReport;
pub use self::report::report;
pub(super) use self::snapshot::GroupState;
pub use self::snapshot::{Settings, Snapshot, group_of};
use crate::drain::Drainer;
use crate::kinds::Nodes;

type VolumeWait = (Timestamp, Vec<Arc<str>>);

#[derive(Debug)]
pub struct Recycling {
    groups: Arc<dyn NodeGroups>,
    nodes: Arc<Cache<Nodes>>,
    by_instance: Arc<Index>,
    drainer: Drainer,
    pub group_cache: Arc<GroupCache>,
    /// Held while a group is marked, so that two EventRecyclers do not both get it.
    marking: tokio::sync::Mutex<()>,
    /// Since when drains wait for these volumes, by Node. Each volume that is detached restarts the timeout.
    volume_waits: Mutex<HashMap<Uid, VolumeWait>>,
    pub(super) clock: SharedClock,
    pub own_node: Option<Arc<str>>,
}

impl Recycling {
    /// Recycles `groups`, whose Nodes are in `nodes`; `session` reads their pods.
    pub fn new(
        groups: Arc<dyn NodeGroups>,
        nodes: Arc<Cache<Nodes>>,
        session: Session,
        clock: SharedClock,
        cloud_call: Duration,
        drain: MachineTimings,
        own_node: Option<Arc<str>>,
    ) -> Self {
        // A drain that takes too long fails the recycle; pods are never removed by force.
        let patient = MachineTimings { drain: Duration::MAX, ..drain };
        let cloud = Arc::clone(&groups);
        let by_instance = nodes.index_entries(move |entry| {
            let provider_id = entry.known().and_then(|node| node.provider_id.as_deref());
            let found = provider_id.and_then(|id| cloud.locate(id));
            found.into_iter().map(|found| found.id.0).collect()
        });
        Self {
            by_instance,
            drainer: Drainer::new(Arc::clone(&nodes), session, clock.clone(), patient),
            group_cache: Arc::new(GroupCache::new(Arc::clone(&groups), clock.clone(), cloud_call)),
            groups,
            nodes,
            marking: tokio::sync::Mutex::default(),
            volume_waits: Mutex::default(),
            clock,
            own_node,
        }
    }
}
