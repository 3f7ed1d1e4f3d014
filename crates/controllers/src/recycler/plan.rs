//! What to do about one EventRecycler, and what came of it, as data.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{GroupRef, InstanceId};

use super::detection::counting::Counting;
use super::error::Refusal;
use super::recycling::{self, Sight};

/// What to do about one EventRecycler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Why nothing is counted, if nothing is.
    pub refusal: Option<Refusal>,
    /// What was counted; `None` where nothing is.
    pub counted: Option<Counted>,
    /// The next step of every recycle under way, in their order.
    pub steps: Vec<recycling::Plan>,
    /// What is done about our finalizer. It is all that is done in that pass: what follows relies on it.
    pub finalizer: Option<Finalizer>,
    /// The group whose recycle begins; one in a pass, so that the next decision knows of it.
    pub begin: Option<Begin>,
    /// Groups that would be recycled if this were no dry run.
    pub pretend: Vec<Begin>,
    /// Groups that have too many events and are left alone, and why.
    pub held: Vec<(Arc<str>, Hold)>,
}

/// What is done about our finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    /// It is put on, so that the object does not go while something is being recycled.
    Add,
    /// It is taken off: nothing is.
    Remove,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// What is to be stored.
    pub counting: Counting,
    /// How many count now, for each group that has any.
    pub counts: BTreeMap<Arc<str>, u64>,
    /// The newest that leads to no group yet, and why.
    pub example: Option<String>,
}

/// A group whose recycle begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Which group.
    pub group: GroupRef,
    /// How many events led to it.
    pub events: u64,
}

/// Why a group is left alone although it has too many events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// It is being recycled.
    Active,
    /// Another EventRecycler recycles it: this one.
    Elsewhere(Arc<str>),
    /// It was recycled, and is left alone until then.
    CoolDown(Timestamp),
    /// As many groups are being recycled as may be.
    Concurrency,
    /// Recycles may begin at other times only; next then.
    Schedule(Option<Timestamp>),
}

/// What came of a plan.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The plan.
    pub plan: Plan,
    /// What came of the steps.
    pub steps: Vec<recycling::Outcome>,
    /// What the group whose recycle begins is like.
    pub begun: Option<Begun>,
    /// What came of the finalizer: whether it was written, which it is not in a dry run.
    pub finalizer: Option<Result<bool, Failure>>,
}

/// What the group whose recycle begins is like.
#[derive(Debug, Clone)]
pub struct Begun {
    /// The group.
    pub sight: Sight,
    /// The Nodes of its instances.
    pub nodes: BTreeMap<InstanceId, recycling::snapshot::Node>,
    /// The Node that this process runs on.
    pub own_node: Option<Arc<str>>,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active => f.write_str("it is being recycled"),
            Self::Elsewhere(recycler) => write!(f, "{recycler} recycles it"),
            Self::CoolDown(until) => write!(f, "it was recycled, and is left alone until {until}"),
            Self::Concurrency => f.write_str("as many groups are being recycled as may be"),
            Self::Schedule(Some(next)) => write!(f, "the schedule opens at {next}"),
            Self::Schedule(None) => f.write_str("the schedule does not open"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.finalizer {
            None => {}
            Some(Finalizer::Add) => return f.write_str("put our finalizer on"),
            Some(Finalizer::Remove) => return f.write_str("take our finalizer off"),
        }
        if let Some(refusal) = &self.refusal {
            write!(f, "count nothing: {refusal}; ")?;
        }
        for step in &self.steps {
            write!(f, "{step}; ")?;
        }
        for Begin { group, events } in &self.pretend {
            write!(f, "would recycle {group} for {events} events; ")?;
        }
        for (group, why) in &self.held {
            write!(f, "leave {group} alone: {why}; ")?;
        }
        match &self.begin {
            Some(Begin { group, events }) => write!(f, "recycle {group} for {events} events"),
            None => f.write_str("begin nothing"),
        }
    }
}
