//! What a drain sees: the machine, its Node, and what is on it. Filled one look at a time, since every look costs a request.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::{Attempt, Mark, NodeState, Pod, PodAction, Step};
use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_DRAIN, ANNOTATION_EXCLUDE_DRAINING, ANNOTATION_FORCE_DELETION, CONDITION_DRAINED,
};
use machinist_domain::conditions::Condition;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;

use super::node_match::{NodeMatch, match_node};
use crate::kinds::{Hook, Machine, NodeRef, Ready};

/// What a drain sees.
#[derive(Debug, Clone)]
pub struct View {
    /// The machine.
    pub subject: Subject,
    /// How long things may take.
    pub timings: MachineTimings,
    /// Its Node; `None` once it is known that there is none.
    pub node: Sight<Option<Node>>,
    /// Other control-plane nodes that are cordoned. Only where the Node is one itself.
    pub cordoned_peers: Vec<Arc<str>>,
    /// The pods of the Node.
    pub pods: Sight<Vec<Pod>>,
    /// DaemonSets of these pods that do not exist any more.
    pub orphaned: Sight<BTreeSet<ObjectKey>>,
    /// Volumes that are still attached to the Node, apart from those of pods that stay.
    pub volumes: Sight<Vec<Arc<str>>>,
    /// Evictions that were refused, by the uid of the pod.
    pub attempts: HashMap<Uid, Attempt>,
    /// Whether this process has not had to do with the drain before: what another one wanted to say may not have been said.
    pub first_reconcile: bool,
}

/// The machine whose Node is to be drained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its uid.
    pub uid: Uid,
    /// Its Node: the one that it names, or the one that runs on its instance. Both are deleted with it.
    pub node_ref: Option<NodeRef>,
    /// Its instance.
    pub provider_id: Option<Arc<str>>,
    /// Who wants to be asked first.
    pub hooks: Box<[Hook]>,
    /// Whether a drain is not wanted.
    pub excluded: bool,
    /// Whether it shall go without waiting for anybody.
    pub forced: bool,
    /// What its condition `Drained` says, if we know the word.
    pub stored: Option<StoredStep>,
}

/// A step as the condition `Drained` remembers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredStep {
    /// Which.
    pub step: Step,
    /// Since when, and with the same words.
    pub since: Option<Timestamp>,
}

/// A Node, as far as a drain looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Identity and version.
    pub meta: Meta,
    /// Whether it runs a part of the control plane.
    pub control_plane: bool,
    /// Whether it is cordoned, by whomever.
    pub cordoned: bool,
    /// Whether nothing is heard from it any more.
    pub unreachable: bool,
    /// What was written on it when its drain began.
    pub mark: Option<Mark>,
    /// Volumes that are attached to it, by their unique names.
    pub volumes_attached: Box<[Arc<str>]>,
}

/// What is known of something that may have to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight<T> {
    /// Nobody has asked.
    NotAsked,
    /// Nobody could say.
    Unknown(Failure),
    /// This.
    Known(T),
}

/// Why nobody is waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Somebody wants it so.
    Asked,
    /// It took too long.
    TimedOut,
}

impl Subject {
    /// What a drain needs to know of a machine, and of the Node that was found for it.
    pub fn of(machine: &Machine, found: Option<&crate::kinds::Node>) -> Self {
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
            stored: machine.condition(CONDITION_DRAINED).and_then(StoredStep::of),
        }
    }

    /// Whose `node` is, which has the name that it names.
    pub fn match_node(&self, node: &crate::kinds::Node) -> NodeMatch {
        match &self.node_ref {
            Some(named) => match_node(named, self.provider_id.as_deref(), node),
            None => NodeMatch::Other,
        }
    }

    /// Whether it is waited no longer for a Node to say whose it is: nobody is to be waited for, or it took as long as a whole drain may.
    pub fn is_past_deadline(&self, patience: Duration, now: Timestamp) -> bool {
        let stored = self.stored.filter(|stored| stored.step == Step::CannotLook);
        let since = stored.and_then(|stored| stored.since);
        let waited = since.and_then(|since| Duration::try_from(now.duration_since(since)).ok());
        self.forced || waited.is_some_and(|waited| waited >= patience)
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

impl Node {
    /// What a drain looks at.
    pub fn of(node: &crate::kinds::Node) -> Self {
        Self {
            meta: node.meta.clone(),
            control_plane: node.is_control_plane(),
            cordoned: node.unschedulable,
            // A Node about which nobody has said anything yet is not one that has gone silent.
            unreachable: node.readiness.status == Ready::Unknown && node.readiness.since.is_some(),
            mark: node.annotations.get(ANNOTATION_DRAIN).and_then(Mark::read),
            volumes_attached: node.volumes_attached.clone(),
        }
    }

    /// Whether its drain has begun: it is cordoned, and it is written down since when.
    pub fn is_prepared(&self) -> bool {
        self.cordoned && self.mark.is_some()
    }
}

impl<T> Sight<T> {
    /// What is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(known) => Some(known),
            Self::NotAsked | Self::Unknown(_) => None,
        }
    }
}

impl View {
    /// A view in which nothing was looked at yet.
    pub fn new(subject: Subject, timings: MachineTimings, attempts: HashMap<Uid, Attempt>) -> Self {
        Self {
            subject,
            timings,
            node: Sight::NotAsked,
            cordoned_peers: Vec::new(),
            pods: Sight::NotAsked,
            orphaned: Sight::NotAsked,
            volumes: Sight::NotAsked,
            attempts,
            first_reconcile: false,
        }
    }

    /// Whether, and why, nobody is waited for any longer.
    pub fn force(&self, now: Timestamp) -> Option<Force> {
        if self.subject.forced {
            return Some(Force::Asked);
        }
        self.time_left(now).filter(Duration::is_zero).map(|_| Force::TimedOut)
    }

    /// How much longer the drain may take; `None` before it has begun.
    pub fn time_left(&self, now: Timestamp) -> Option<Duration> {
        let node = self.node.known().and_then(Option::as_ref);
        let stored = self.subject.stored.filter(|stored| stored.step == Step::Cordoning);
        // Where the mark cannot be written, the time since that is said counts.
        let started = node.and_then(|node| node.mark).map(|mark| mark.started);
        let started = started.or_else(|| stored.and_then(|stored| stored.since))?;
        let spent = Duration::try_from(now.duration_since(started)).unwrap_or_default();
        Some(self.timings.drain.saturating_sub(spent))
    }

    /// Every pod with what becomes of it.
    pub fn actions(&self, now: Timestamp) -> impl Iterator<Item = (&Pod, PodAction)> {
        static NONE: BTreeSet<ObjectKey> = BTreeSet::new();
        let node = self.node.known().and_then(Option::as_ref);
        let state = NodeState {
            unreachable: node.is_some_and(|node| node.unreachable),
            orphaned: self.orphaned.known().unwrap_or(&NONE),
            now,
        };
        let pods = self.pods.known().map(Vec::as_slice).unwrap_or_default();
        pods.iter().map(move |pod| (pod, state.action(pod)))
    }
}
