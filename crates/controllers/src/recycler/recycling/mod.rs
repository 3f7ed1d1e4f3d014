//! Recycles one node group: a part of the recycler, with the same stages as the whole.
//!
//! Input: a stored recycle, the group as the cloud describes it, the Nodes of its instances. Output: what to store next, changes to the group,
//! cordons and evictions ([`drain`](crate::drain) does them), Events.
//!
//! * [`mod@begin`]: whether a group can be recycled, and the plan to begin with. [`mark`]: the same plan as a text on the group.
//! * [`mod@decide`]: the next single step. [`act`] carries it out, [`mod@report`] says what came of it.
//!
//! What must survive a crash is in the status of the EventRecycler and on the group, before it is acted upon. Not here: which
//! groups are recycled and when (`detection`), and the writing of the status.

mod act;
pub mod begin;
pub mod decide;
mod looks;
pub mod mark;
mod observe;
pub mod owner;
pub mod plan;
pub mod report;
#[cfg(test)]
mod samples;
pub mod snapshot;

use std::collections::HashMap;
use std::sync::Arc;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::node_groups::{GroupRef, NodeGroups};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::index::Index;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::{ApiError, Session};
use machinist_runtime::writer::Writer;
use parking_lot::Mutex;

pub use self::begin::{Refusal, Request, begin, objection};
pub use self::decide::decide;
use self::looks::Looks;
use self::observe::VolumeWait;
pub use self::owner::Owner;
pub use self::plan::{Effect, Outcome, Plan};
pub use self::report::{Told, report};
pub use self::snapshot::{Settings, Sight, Snapshot, group_of};
use crate::drain::Drainer;
use crate::kinds::{Node, Nodes};

/// Recycles node groups.
#[derive(Debug)]
pub struct Recycling {
    groups: Arc<dyn NodeGroups>,
    nodes: Arc<Cache<Nodes>>,
    by_instance: Arc<Index>,
    drainer: Drainer,
    looks: Looks,
    /// Held while a text is written on a group.
    marking: tokio::sync::Mutex<()>,
    volume_waits: Mutex<HashMap<Uid, VolumeWait>>,
    clock: SharedClock,
    own_node: Option<Arc<str>>,
}

impl Recycling {
    /// Recycles `groups`, whose Nodes are in `nodes`; `session` reads what is on them. `own_node` is the Node that this process runs on.
    pub fn new(
        groups: Arc<dyn NodeGroups>,
        nodes: Arc<Cache<Nodes>>,
        session: Session,
        clock: SharedClock,
        cloud_call: std::time::Duration,
        drain: MachineTimings,
        own_node: Option<Arc<str>>,
    ) -> Self {
        // A drain that takes too long is the recycle's failure: nobody is evicted by force for its sake.
        let patient = MachineTimings { drain: std::time::Duration::MAX, ..drain };
        Self {
            by_instance: nodes.index(instances_of),
            drainer: Drainer::new(Arc::clone(&nodes), session, clock.clone(), patient),
            looks: Looks::new(Arc::clone(&groups), clock.clone(), cloud_call),
            groups,
            nodes,
            marking: tokio::sync::Mutex::default(),
            volume_waits: Mutex::default(),
            clock,
            own_node,
        }
    }

    /// The Node that this process runs on, if it knows.
    pub fn own_node(&self) -> Option<&str> {
        self.own_node.as_deref()
    }

    /// What the group is like at this moment; for the beginning of a recycle.
    pub async fn look(&self, group: &GroupRef) -> Sight {
        self.looks.look_now(group).await
    }

    /// What the group is like, not older than `age`; for a group that may be looked at again and again before it can be recycled.
    pub async fn look_lately(&self, group: &GroupRef, age: std::time::Duration) -> Sight {
        self.looks.look(group, age).await
    }

    /// Looks at what the recycle needs to know next. `owner` is what the text on the group calls whoever wants it.
    pub async fn observe(
        &self,
        recycle: &Recycle,
        owner: Arc<str>,
        settings: Settings,
    ) -> Result<Snapshot, ApiError> {
        observe::observe(self, recycle, owner, settings).await
    }

    /// Carries a plan out.
    pub async fn act(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        owner: &dyn Owner,
        writer: &Writer,
    ) -> Outcome {
        act::act(self, snapshot, plan, owner, writer).await
    }

    /// Forgets a group that nobody recycles any more.
    pub fn forget(&self, group: &GroupRef) {
        self.looks.forget(group);
    }
}

fn instances_of(node: &Node) -> Vec<Arc<str>> {
    node.provider_id.as_deref().and_then(instance_of).map(Arc::from).into_iter().collect()
}

/// The instance in a provider id: its last part, if that is an instance's.
pub fn instance_of(provider_id: &str) -> Option<&str> {
    let last = provider_id.rsplit('/').next()?;
    (provider_id.starts_with("aws://") && last.starts_with("i-") && last.len() > 2).then_some(last)
}
