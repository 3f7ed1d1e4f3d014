//! Recycles one node group: a part of the recycler with stages of its own.
//!
//! Input: a stored recycle, the description of the group, the Nodes of its instances. Output: the recycle to store
//! next, changes to the group, cordons and evictions (by [`drain`](crate::drain)), Events.
//!
//! [`mod@begin`] has the conditions for a recycle, [`mark`] the plan as it is stored in the tags of the group.
//! [`mod@decide`] chooses the next single step. What must survive a crash is in the status of the EventRecycler and on
//! the group before it is acted upon.
//!
//! Not here: which groups are recycled and when (`detection`), and writes of the status.

mod act;
pub mod begin;
pub mod decide;
mod group_cache;
pub mod mark;
pub(super) mod messages;
mod observe;
pub mod owner;
pub mod plan;
pub mod report;
#[cfg(test)]
mod samples;
pub mod snapshot;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{Group, GroupRef, NodeGroups};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::{ApiError, Session};
use machinist_runtime::writer::Writer;
use parking_lot::Mutex;

pub use self::begin::{Refusal, Request, begin};
pub use self::decide::decide;
use self::group_cache::GroupCache;
use self::observe::VolumeWait;
pub use self::owner::Owner;
pub use self::plan::{Effect, Outcome, Plan};
pub use self::report::{RecycleReport, report};
pub use self::snapshot::{GroupState, Settings, Snapshot, group_of};
use crate::drain::Drainer;
use crate::kinds::Nodes;

/// Recycles node groups.
#[derive(Debug)]
pub struct Recycling {
    groups: Arc<dyn NodeGroups>,
    nodes: Arc<Cache<Nodes>>,
    by_instance: Arc<Index>,
    drainer: Drainer,
    group_cache: GroupCache,
    /// Held while a group is marked, so that two EventRecyclers do not both get it.
    marking: tokio::sync::Mutex<()>,
    volume_waits: Mutex<HashMap<Uid, VolumeWait>>,
    clock: SharedClock,
    own_node: Option<Arc<str>>,
}

impl Recycling {
    /// Recycles `groups`, whose Nodes are in `nodes`; `session` reads their pods. `own_node` is the Node that this
    /// process runs on.
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
            let Entry::Known(node) = entry else { return Vec::new() };
            let found = node.provider_id.as_deref().and_then(|id| cloud.locate(id));
            found.into_iter().map(|found| found.id.0).collect()
        });
        Self {
            by_instance,
            drainer: Drainer::new(Arc::clone(&nodes), session, clock.clone(), patient),
            group_cache: GroupCache::new(Arc::clone(&groups), clock.clone(), cloud_call),
            groups,
            nodes,
            marking: tokio::sync::Mutex::default(),
            volume_waits: Mutex::default(),
            clock,
            own_node,
        }
    }

    /// The Node that this process runs on, if it is known.
    pub fn own_node(&self) -> Option<&str> {
        self.own_node.as_deref()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The group at this moment.
    pub async fn describe_live(&self, group: &GroupRef) -> Result<Option<Box<Group>>, Failure> {
        self.group_cache.describe_live(group).await
    }

    /// The cached description of a group.
    pub(super) fn cached(&self, group: &GroupRef) -> GroupState {
        self.group_cache.cached(group)
    }

    /// Describes groups and caches the result for `ttl`.
    pub(super) async fn describe(&self, groups: &[GroupRef], ttl: Duration) {
        self.group_cache.fill(groups, ttl).await;
    }

    /// Builds the snapshot of a recycle. `owner` is the owner as it is stored in the tags of the group.
    pub async fn observe(
        &self,
        recycle: &Recycle,
        owner: Arc<str>,
        settings: Settings,
    ) -> Result<Snapshot, ApiError> {
        observe::observe(self, recycle, owner, settings).await
    }

    /// Executes a plan.
    pub async fn act(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        owner: &dyn Owner,
        writer: &Writer,
    ) -> Outcome {
        act::act(self, snapshot, plan, owner, writer).await
    }

    /// Drops the cached description of a group.
    pub fn forget(&self, group: &GroupRef) {
        self.group_cache.forget(group);
    }
}
