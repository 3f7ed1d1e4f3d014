//! The observed state of a drain, read step by step because each read costs a request.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_DRAIN_TIMEOUT, ANNOTATION_EXCLUDE_DRAINING, ANNOTATION_FORCE_DELETION,
    CONDITION_DRAINED, CONDITION_IN_PLACE_UPDATE,
};
use machinist_domain::conditions::Condition;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::observed::Observed;

use super::{Attempt, Limit, Mark, Pod, PodAction, Step, Timeout};
use crate::kinds::{Hook, Machine, Node, NodeRef, Ready};

#[derive(Debug, Clone)]
pub struct View {
    pub subject: Subject,
    pub timings: MachineTimings,
    pub node: Observed<Arc<Node>>,
    /// Other cordoned control-plane nodes, if the Node is one.
    pub cordoned_peers: Vec<Arc<str>>,
    pub pods: Observed<Vec<Pod>>,
    pub orphaned: Observed<BTreeSet<ObjectKey>>,
    /// Volumes attached to the Node, except those of pods that stay.
    pub volumes: Observed<Vec<Arc<str>>>,
    pub(super) attempts: HashMap<Uid, Attempt>,
    /// Whether this process sees the drain for the first time: another one may not have written its Events.
    pub first_reconcile: bool,
}

/// The Machine whose Node is drained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub uid: Uid,
    /// Its Node: `status.nodeRef`, or the one with its provider ID.
    pub node_ref: Option<NodeRef>,
    pub provider_id: Option<Arc<str>>,
    /// Its preDrain hooks.
    pub hooks: Box<[Hook]>,
    /// Whether the drain is skipped.
    pub excluded: bool,
    /// Whether the drain does not wait.
    pub forced: bool,
    /// Whether a taint keeps new pods away, so that no cordon is needed.
    pub tainted: bool,
    pub limit: Limit,
    /// The step in its condition `Drained`, if the reason is known.
    pub stored: Option<StoredStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredStep {
    pub step: Step,
    /// Since when, with the same message.
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// By annotation.
    Asked,
    TimedOut,
}

impl Subject {
    pub(crate) fn of(machine: &Machine, found: Option<&Node>) -> Self {
        let found = found.map(|node| &node.meta);
        let found =
            found.map(|meta| NodeRef { name: meta.key.name.clone(), uid: meta.uid.clone() });
        Self {
            uid: machine.meta.uid.clone(),
            node_ref: machine.status.node_ref.clone().or(found),
            provider_id: machine.provider_id.clone(),
            hooks: machine.hooks.pre_drain.clone(),
            excluded: machine.annotations.contains(ANNOTATION_EXCLUDE_DRAINING),
            forced: machine.annotations.contains(ANNOTATION_FORCE_DELETION),
            tainted: false,
            limit: Limit::of(machine.annotations.get(ANNOTATION_DRAIN_TIMEOUT)),
            stored: machine.condition(CONDITION_DRAINED).and_then(StoredStep::of),
        }
    }

    /// For a Machine that is kept although it has failed. Such a drain is never forced: `machinist.dev/force-deletion`
    /// and the time limits are those of a deletion.
    pub(crate) fn of_preserved(
        machine: &Machine,
        found: Option<&Node>,
        stored: Option<StoredStep>,
    ) -> Self {
        let limit = Limit::Own(Timeout(None));
        Self { forced: false, tainted: true, limit, stored, ..Self::of(machine, found) }
    }

    /// For an update in place, which is not a deletion: hooks and the annotation that forces it do not apply, and the
    /// step is in another condition. That is never True because of a drain: then it is of an earlier update.
    pub(crate) fn in_place(machine: &Machine, found: Option<&Node>) -> Self {
        let stored = machine.condition(CONDITION_IN_PLACE_UPDATE).and_then(StoredStep::of);
        let stored = stored.filter(|stored| !stored.step.is_done());
        Self { hooks: Box::default(), forced: false, stored, ..Self::of(machine, found) }
    }

    fn needs_node(&self) -> bool {
        let settled = self.stored.is_some_and(|stored| stored.step.is_done());
        !settled && self.hooks.is_empty() && !self.excluded && self.node_ref.is_some()
    }

    /// Whether an unidentified Node is waited for no longer: the drain is forced, or its time limit is over.
    pub(super) fn is_past_deadline(&self, timings: &MachineTimings, now: Timestamp) -> bool {
        let limit = self.limit(timings);
        let stored = self.stored.filter(|stored| stored.step == Step::CannotRead);
        let since = stored.and_then(|stored| stored.since);
        let waited = since.and_then(|since| Duration::try_from(now.duration_since(since)).ok());
        let is_over = limit.zip(waited).is_some_and(|(limit, waited)| waited >= limit);
        self.forced || is_over
    }

    /// How long the drain may take; `None` if it is never forced.
    fn limit(&self, timings: &MachineTimings) -> Option<Duration> {
        match &self.limit {
            Limit::Default => timings.drain,
            Limit::Own(Timeout(limit)) => *limit,
            Limit::Invalid(_) => None,
        }
    }
}

impl StoredStep {
    /// Reads the condition `Drained`. OpenShift's has no reason where it is True.
    pub fn of(condition: &Condition) -> Option<Self> {
        let step = condition.reason.as_deref().and_then(Step::read);
        let step = match (step, condition.is_true()) {
            (Some(step), done) if step.is_done() == done => step,
            (_, true) => Step::Succeeded,
            (_, false) => return None,
        };
        Some(Self { step, since: condition.last_transition })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    Node,
    Pods,
    DaemonSets,
    Volumes,
}

/// Whether the kubelet has stopped reporting. A new Node without a condition is not unreachable.
pub(super) fn is_unreachable(node: &Node) -> bool {
    node.readiness.status == Ready::Unknown && node.readiness.since.is_some()
}

/// Whether its drain has begun.
fn has_begun(node: &Node) -> bool {
    node.unschedulable && Mark::of(node).is_some()
}

impl View {
    pub(crate) fn new(
        subject: Subject,
        timings: MachineTimings,
        attempts: HashMap<Uid, Attempt>,
    ) -> Self {
        Self {
            subject,
            timings,
            node: Observed::NotAsked,
            cordoned_peers: Vec::new(),
            pods: Observed::NotAsked,
            orphaned: Observed::NotAsked,
            volumes: Observed::NotAsked,
            attempts,
            first_reconcile: false,
        }
    }

    /// What `observe` reads next, given the answers so far. This chooses reads only; what is written is up to `decide`.
    pub(super) fn next_query(&self, now: Timestamp) -> Option<Query> {
        use Observed::{NotAsked, Present};
        let forced = self.force(now).is_some();
        let is_busy = forced || self.blocking(now).next().is_some();
        match (&self.node, &self.pods, &self.orphaned) {
            _ if !self.subject.needs_node() => None,
            (NotAsked, ..) => Some(Query::Node),
            (Present(node), ..) if !forced && !self.has_begun(node) => None,
            (Present(_), NotAsked, _) => Some(Query::Pods),
            _ if is_busy => None,
            // Whether a DaemonSet exists matters only when no other pods are left.
            (Present(_), Present(_), NotAsked) if self.has_daemons() => Some(Query::DaemonSets),
            (Present(_), Present(_), NotAsked | Present(_)) => {
                (self.volumes == NotAsked).then_some(Query::Volumes)
            }
            _ => None,
        }
    }

    pub(super) fn has_begun(&self, node: &Node) -> bool {
        self.subject.tainted || has_begun(node)
    }

    pub(super) fn force(&self, now: Timestamp) -> Option<Force> {
        if self.subject.forced {
            return Some(Force::Asked);
        }
        self.time_left(now).filter(Duration::is_zero).map(|_| Force::TimedOut)
    }

    /// How long the drain may take; `None` if it is never forced.
    pub(super) fn limit(&self) -> Option<Duration> {
        self.subject.limit(&self.timings)
    }

    /// When a drain that has begun is forced.
    pub(super) fn forced_at(&self) -> Option<Timestamp> {
        let mark = Mark::of(self.node.present()?)?;
        mark.started.checked_add(self.limit()?).ok()
    }

    /// `None` if the time does not count, or not yet.
    pub(super) fn time_left(&self, now: Timestamp) -> Option<Duration> {
        let limit = self.limit()?;
        let node = self.node.present();
        let stored = self.subject.stored.filter(|stored| stored.step == Step::Cordoning);
        // Without a mark, the time since the cordon was first tried counts.
        let started = node.and_then(|node| Mark::of(node)).map(|mark| mark.started);
        let started = started.or_else(|| stored.and_then(|stored| stored.since))?;
        let spent = Duration::try_from(now.duration_since(started)).unwrap_or_default();
        Some(limit.saturating_sub(spent))
    }

    pub(super) fn actions(&self, now: Timestamp) -> impl Iterator<Item = (&Pod, PodAction)> {
        let unreachable = self.node.present().is_some_and(|node| is_unreachable(node));
        let orphaned = self.orphaned.present();
        let pods = self.pods.present().into_iter().flatten();
        pods.map(move |pod| (pod, pod.action(unreachable, orphaned, now)))
    }

    pub(super) fn has_daemons(&self) -> bool {
        self.pods.present().into_iter().flatten().any(|pod| pod.daemon_set.is_some())
    }

    pub(super) fn blocking(&self, now: Timestamp) -> impl Iterator<Item = &Pod> {
        self.actions(now).filter(|(_, action)| action.blocks_drain()).map(|(pod, _)| pod)
    }
}
