//! The recycler: counts Events per node group, and recycles a group that reaches the threshold.
//!
//! Input: EventRecyclers, Events, Pods and Nodes from the caches; instances and groups from the cloud. Output: the
//! status of EventRecyclers, recycled groups, Events. [`detection`] leads from Events to counts, [`recycling`] recycles
//! one group step by step; they meet in the status.
//!
//! Invariants: an occurrence of an Event counts once, across leaders and restarts. A group is recycled by one
//! EventRecycler at a time. An invalid EventRecycler does not affect others. Without changes nothing is read or
//! written.

mod abandoned;
mod act;
pub mod decide;
mod declaration;
pub mod detection;
pub mod error;
mod figures;
mod history;
mod messages;
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

use self::abandoned::AbandonedGroups;
pub use self::decide::decide;
pub use self::declaration::DECLARATION;
use self::detection::event_tracker::EventTracker;
use self::detection::group_membership::GroupMembership;
use self::detection::locator::Locator;
use self::metrics::RecyclerMetrics;
pub use self::plan::{Outcome, Plan};
pub use self::recycling::Recycling;
pub use self::report::report;
pub use self::snapshot::Snapshot;
pub use self::timings::RecyclerTimings;
use crate::kinds::{EventRecyclers, Events, Node, Nodes, Pod, Pods};

/// What wiring passes to the recycler.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The node groups of the cloud.
    pub groups: Arc<dyn NodeGroups>,
    /// The region of this process, if it is known.
    pub region: Option<Arc<str>>,
    /// The Node that this process runs on, if it is known.
    pub own_node: Option<Arc<str>>,
    /// The durations that no EventRecycler sets.
    pub timings: RecyclerTimings,
}

/// The recycler.
#[derive(Debug)]
pub struct RecyclerController {
    recyclers: Arc<Cache<EventRecyclers>>,
    events: Arc<Cache<Events>>,
    event_tracker: Arc<EventTracker>,
    locator: Locator,
    recycling: Recycling,
    abandoned: Arc<AbandonedGroups>,
    timings: RecyclerTimings,
    metrics: Arc<RecyclerMetrics>,
}

impl RecyclerController {
    /// A recycler. Events, Pods and Nodes are those of the target cluster.
    pub fn new(shared: &Arc<Shared>, settings: Settings) -> Self {
        let Settings { groups, region, own_node, timings } = settings;
        let target = shared.target.as_ref().unwrap_or(&shared.control);
        let caches = &shared.caches;
        let nodes = caches.open(target, Scope::All, Nodes);
        let event_tracker =
            Arc::new(EventTracker::new(shared.clock.clone(), timings.machines.gather));
        let tracker = Arc::clone(&event_tracker);
        let group_membership = GroupMembership::new(
            Arc::clone(&groups),
            shared.tasks.clone(),
            shared.clock.clone(),
            shared.timings,
            timings.machines,
            move || tracker.requeue_unresolved(),
        );
        Self {
            recyclers: caches.open(&shared.control, Scope::All, EventRecyclers),
            events: caches.open(target, Scope::All, Events),
            event_tracker,
            locator: Locator {
                pods: caches.open(target, Scope::All, Pods),
                nodes: Arc::clone(&nodes),
                cloud: Arc::clone(&groups),
                group_membership,
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
            abandoned: Arc::default(),
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
            self.locator.pods.clone(),
            self.locator.nodes.clone(),
        ]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        self.event_tracker.set_queue(queue);
        let tracker = Arc::clone(&self.event_tracker);
        self.events
            .attend(move |before, after, position| tracker.event_changed(before, after, position));
        let (tracker, events) = (Arc::clone(&self.event_tracker), Arc::clone(&self.events));
        let (keys, metrics) = (Arc::clone(queue), Arc::clone(&self.metrics));
        let abandoned = Arc::clone(&self.abandoned);
        self.recyclers.subscribe(move |change| {
            figures::update(&metrics, change);
            match change.after {
                Some(Entry::Known(recycler)) => tracker.track(recycler, &*events),
                Some(Entry::Undecodable(_)) | None => {
                    tracker.forget(change.key);
                    abandoned.forget(change.key);
                }
            }
            keys.add_changed(change.key, change);
        });
        let tracker = Arc::clone(&self.event_tracker);
        self.locator.pods.subscribe(move |change| {
            if pod_got_node(change.before, change.after) {
                tracker.requeue_unresolved();
            }
        });
        let tracker = Arc::clone(&self.event_tracker);
        self.locator.nodes.subscribe(move |change| {
            if node_got_instance(change.before, change.after) {
                tracker.requeue_unresolved();
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
        plan: &Plan,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Report {
        report::report(snapshot, plan, outcome, now)
    }

    async fn write_status(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        // Counts and mark follow from this version. After any other change they have to be computed again.
        let (patch, guard) = (json!({ "status": status }), Guard::Version);
        writer.patch(&self.recyclers, &snapshot.meta, Part::Status, guard, patch, plan).await
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: EVENT_RECYCLERS, meta: &snapshot.meta }
    }
}

/// Whether the change sets the Node of the pod.
fn pod_got_node(before: Option<&Entry<Pod>>, after: Option<&Entry<Pod>>) -> bool {
    let node = |entry: Option<&Entry<Pod>>| match entry {
        Some(Entry::Known(pod)) => pod.node.clone(),
        Some(Entry::Undecodable(_)) | None => None,
    };
    node(after).is_some() && node(before) != node(after)
}

/// Whether the change sets the instance of the Node.
fn node_got_instance(before: Option<&Entry<Node>>, after: Option<&Entry<Node>>) -> bool {
    let instance = |entry: Option<&Entry<Node>>| match entry {
        Some(Entry::Known(node)) => node.provider_id.clone(),
        Some(Entry::Undecodable(_)) | None => None,
    };
    instance(after).is_some() && instance(before) != instance(after)
}
