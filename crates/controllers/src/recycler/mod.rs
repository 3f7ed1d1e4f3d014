//! Counts Events per node group ([`detection`]), and recycles a group that reaches the threshold ([`recycling`]).
//!
//! Invariants: an occurrence of an Event counts once, across leaders and restarts. A group is recycled by one
//! EventRecycler at a time. An invalid one does not affect others. Without changes nothing is read or written.

mod abandoned;
mod act;
mod decide;
mod declaration;
pub mod detection;
mod error;
#[cfg(test)]
mod fuzz;
mod history;
mod messages;
mod metrics;
mod naming;
mod observe;
mod plan;
pub mod recycling;
mod report;
#[cfg(test)]
mod samples;
mod schedule;
mod settings;
mod snapshot;
#[cfg(test)]
mod tests;
mod timings;

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::EVENT_RECYCLERS;
use machinist_domain::conditions::Condition;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::report::Report;
use machinist_domain::safety::Initiator;
use machinist_provider::node_groups::NodeGroups;
use machinist_runtime::cache::kind::Kind;
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
pub use self::declaration::DECLARATION;
use self::detection::{Detection, EventTracker, GroupMembership, Locator};
pub use self::messages::unit;
use self::metrics::RecyclerMetrics;
pub use self::naming::Names;
use self::plan::Outcome;
pub use self::plan::{Candidate, Plan};
use self::recycling::Recycling;
use self::snapshot::Snapshot;
pub use self::timings::RecyclerTimings;
use crate::kinds::{EventRecyclers, Events, Nodes, Pods};
use crate::safety;

#[derive(Debug, Clone)]
pub struct Settings {
    pub groups: Arc<dyn NodeGroups>,
    /// The region of this process, if it is known.
    pub region: Option<Arc<str>>,
    /// The Node that this process runs on, if it is known.
    pub own_node: Option<Arc<str>>,
    /// The durations that no EventRecycler sets.
    pub timings: RecyclerTimings,
}

#[derive(Debug)]
pub struct RecyclerController {
    recyclers: Arc<Cache<EventRecyclers>>,
    detection: Arc<Detection>,
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
        safety::count_nodes(shared, &nodes);
        let tracker = Arc::new(EventTracker::new(shared.clock.clone(), timings.machines.gather));
        let looked_up = Arc::clone(&tracker);
        let group_membership = GroupMembership::new(
            Arc::clone(&groups),
            shared.tasks.clone(),
            shared.clock.clone(),
            shared.timings,
            timings.machines,
            move || looked_up.requeue_unresolved(),
        );
        let locator = Locator {
            pods: caches.open(target, Scope::All, Pods),
            nodes: Arc::clone(&nodes),
            cloud: Arc::clone(&groups),
            group_membership,
            region,
        };
        let recyclers = caches.open(&shared.control, Scope::All, EventRecyclers);
        shared.freezes.follow(&recyclers);
        Self {
            recyclers,
            detection: Arc::new(Detection {
                events: caches.open(target, Scope::All, Events),
                tracker,
                locator,
            }),
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
            metrics: shared.metrics.of(),
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
            self.detection.events.clone(),
            self.detection.locator.pods.clone(),
            self.detection.locator.nodes.clone(),
        ]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let Detection { tracker, locator, .. } = &*self.detection;
        tracker.set_queue(queue);
        self.detection.attend();
        let (detection, abandoned) = (Arc::clone(&self.detection), Arc::clone(&self.abandoned));
        let (keys, metrics) = (Arc::clone(queue), Arc::clone(&self.metrics));
        let group_cache = Arc::clone(&self.recycling.group_cache);
        self.recyclers.subscribe(move |change| {
            let before = change.before.and_then(Entry::known);
            let after = change.after.and_then(Entry::known);
            let (old, new) = (before.map(|one| &*one.status), after.map(|one| &*one.status));
            metrics.changed(&change.key.name, old, new);
            if let Some(recycler) = after {
                detection.track(recycler);
            } else {
                detection.tracker.forget(change.key);
                abandoned.forget(change.key);
                group_cache.clear();
            }
            keys.add_changed(change.key, change);
        });
        requeue_when_set(tracker, &locator.pods, |pod| pod.node.as_ref());
        requeue_when_set(tracker, &locator.nodes, |node| node.provider_id.as_ref());
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot, now: Timestamp) -> Plan {
        decide::decide(snapshot, now)
    }

    async fn act(&self, snapshot: &Snapshot, plan: &Plan, writer: &Writer) -> Outcome {
        // No user asks for a recycle, only for the rule that begins it.
        act::act(self, snapshot, plan, &writer.initiated_by(Initiator::Controller)).await
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

    fn conditions(&self, snapshot: &Snapshot) -> Option<Vec<Condition>> {
        let facts = snapshot.facts.as_ref().ok().filter(|_| !snapshot.meta.deleting)?;
        Some(facts.conditions())
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

/// Requeues unresolved EventRecyclers when a field that leads to a group gets a value.
fn requeue_when_set<K: Kind>(
    tracker: &Arc<EventTracker>,
    cache: &Cache<K>,
    field: fn(&K::Stored) -> Option<&Arc<str>>,
) {
    let tracker = Arc::clone(tracker);
    cache.subscribe(move |change| {
        let value = change.after.and_then(Entry::known).and_then(|object| field(object));
        let before = change.before.and_then(Entry::known).and_then(|object| field(object));
        if value.is_some() && value != before {
            tracker.requeue_unresolved();
        }
    });
}
