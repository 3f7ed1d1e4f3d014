//! The recycler: sees in Events that nodes are bad, and recycles the node groups behind them.
//!
//! Input: EventRecyclers, Events, Pods and Nodes from the caches, and what the cloud says of instances and groups. Output: the status of
//! EventRecyclers, recycled groups, Events.
//!
//! * [`detection`]: from Events to counts per group. [`recycling`]: recycles one group, step by step.
//! * [`settings`], [`schedule`], `history`: what an EventRecycler asks for, when a recycle may begin, and what was recycled.
//! * [`naming`]: how groups are called. `leftovers`: groups that somebody left at zero.
//!
//! The two parts meet in the status. `decide` begins a recycle when a group has too many events; that is stored, in one write that names the
//! version it was decided on, and nothing else happens in that pass. From then on every pass asks each stored recycle for its next step.
//!
//! Invariants: an occurrence of an event counts once, whoever leads and however often that changes; a group is recycled by one EventRecycler at a
//! time; what means nothing in one object is in nobody else's way; without news nothing is read, written or looked at.

mod act;
pub mod decide;
mod declaration;
pub mod detection;
pub mod error;
mod figures;
mod history;
mod leftovers;
pub mod metrics;
pub mod naming;
mod observe;
pub mod plan;
pub mod recycling;
pub mod report;
#[cfg(test)]
mod samples;
pub mod schedule;
pub mod settings;
pub mod snapshot;
#[cfg(test)]
mod tests;
pub mod timings;

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::EVENT_RECYCLERS;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::report::Report;
use machinist_provider::node_groups::NodeGroups;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache, Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use serde_json::{Value, json};

pub use self::decide::decide;
pub use self::declaration::DECLARATION;
use self::detection::belongings::Belongings;
use self::detection::place::Places;
use self::detection::watchers::Watchers;
use self::leftovers::Leftovers;
use self::metrics::RecyclerMetrics;
pub use self::plan::{Outcome, Plan};
pub use self::recycling::Recycling;
pub use self::report::report;
pub use self::snapshot::Snapshot;
pub use self::timings::RecyclerTimings;
use crate::kinds::{EventRecyclers, Events, Node, Nodes, Pod, Pods};

/// How to look after EventRecyclers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who is asked about groups, and told to change them.
    pub groups: Arc<dyn NodeGroups>,
    /// The region that this process is in, if it knows.
    pub region: Option<Arc<str>>,
    /// The Node that this process runs on, if it knows.
    pub own_node: Option<Arc<str>>,
    /// The durations that no EventRecycler sets.
    pub timings: RecyclerTimings,
}

/// The recycler.
#[derive(Debug)]
pub struct RecyclerController {
    recyclers: Arc<Cache<EventRecyclers>>,
    events: Arc<Cache<Events>>,
    watchers: Arc<Watchers>,
    places: Places,
    recycling: Recycling,
    leftovers: Arc<Leftovers>,
    timings: RecyclerTimings,
    metrics: Arc<RecyclerMetrics>,
}

impl RecyclerController {
    /// A recycler for the groups that `settings` knows. Events, Pods and Nodes are those of the target cluster.
    pub fn new(shared: &Arc<Shared>, settings: Settings) -> Self {
        let Settings { groups, region, own_node, timings } = settings;
        let target = shared.target.as_ref().unwrap_or(&shared.control);
        let caches = &shared.caches;
        let nodes = caches.open(target, Scope::All, Nodes::default());
        let watchers = Arc::new(Watchers::new(shared.clock.clone(), timings.machines.gather));
        let wake = Arc::clone(&watchers);
        let belongings = Belongings::new(
            Arc::clone(&groups),
            shared.tasks.clone(),
            shared.clock.clone(),
            shared.timings,
            timings.machines,
            move || wake.wake_waiting(),
        );
        Self {
            recyclers: caches.open(&shared.control, Scope::All, EventRecyclers),
            events: caches.open(target, Scope::All, Events::default()),
            watchers,
            places: Places {
                pods: caches.open(target, Scope::All, Pods::default()),
                nodes: Arc::clone(&nodes),
                belongings,
                region,
            },
            recycling: Recycling::new(
                groups,
                nodes,
                target.session(UserAgent::of(Self::NAME)),
                shared.clock.clone(),
                shared.timings.cloud_call,
                timings.machines,
                own_node,
            ),
            leftovers: Arc::default(),
            timings,
            metrics: shared.metrics.set(),
        }
    }
}

impl Controller for RecyclerController {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![
            self.recyclers.clone(),
            self.events.clone(),
            self.places.pods.clone(),
            self.places.nodes.clone(),
        ]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        self.watchers.wake(queue);
        let watchers = Arc::clone(&self.watchers);
        self.events.attend(move |before, after, position| watchers.told(before, after, position));
        let (watchers, events) = (Arc::clone(&self.watchers), Arc::clone(&self.events));
        let (keys, metrics) = (Arc::clone(queue), Arc::clone(&self.metrics));
        let leftovers = Arc::clone(&self.leftovers);
        self.recyclers.subscribe(move |change| {
            figures::tell(&metrics, change);
            match change.after {
                Some(Entry::Known(recycler)) => watchers.follow(recycler, &*events),
                Some(Entry::Undecodable(_)) | None => {
                    watchers.forget(change.key);
                    leftovers.forget(change.key);
                }
            }
            keys.add_changed(change.key, change);
        });
        let watchers = Arc::clone(&self.watchers);
        self.places.pods.subscribe(move |change| {
            if pod_is_placed(change.before, change.after) {
                watchers.wake_waiting();
            }
        });
        let watchers = Arc::clone(&self.watchers);
        self.places.nodes.subscribe(move |change| {
            if node_is_known(change.before, change.after) {
                watchers.wake_waiting();
            }
        });
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot, now: Timestamp) -> Plan {
        decide::decide(snapshot, now)
    }

    async fn act(&self, snapshot: &Snapshot, plan: &Plan, writer: &Writer) -> Outcome {
        act::act(self, snapshot, plan, writer).await
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        _plan: &Plan,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Report {
        report::report(snapshot, outcome, now)
    }

    async fn write_status(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        // Counts and mark follow from what was read: if anything has changed since, they must be made anew.
        let (patch, guard) = (json!({ "status": status }), Guard::Version);
        writer.patch(&self.recyclers, &snapshot.meta, Part::Status, guard, patch, plan).await
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: EVENT_RECYCLERS, meta: &snapshot.meta }
    }
}

/// Whether it is known since then where the pod runs.
fn pod_is_placed(before: Option<&Entry<Pod>>, after: Option<&Entry<Pod>>) -> bool {
    let node = |entry: Option<&Entry<Pod>>| match entry {
        Some(Entry::Known(pod)) => pod.node.clone(),
        Some(Entry::Undecodable(_)) | None => None,
    };
    node(after).is_some() && node(before) != node(after)
}

/// Whether it is known since then which instance the node is.
fn node_is_known(before: Option<&Entry<Node>>, after: Option<&Entry<Node>>) -> bool {
    let instance = |entry: Option<&Entry<Node>>| match entry {
        Some(Entry::Known(node)) => node.provider_id.clone(),
        Some(Entry::Undecodable(_)) | None => None,
    };
    instance(after).is_some() && instance(before) != instance(after)
}
