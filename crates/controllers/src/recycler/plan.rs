//! What to do about one EventRecycler, and what came of it, as data.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::key::Uid;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{GroupRef, InstanceId};

use super::detection::counting::Counting;
use super::error::Refusal;
use super::recycling::{self, Request, Sight};
use super::settings::Settings;

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
    /// The groups whose recycle may begin, the worst first. The first that can be recycled is; one in a pass, so that the next decision knows of it.
    pub begin: Vec<Begin>,
    /// Groups that are looked at because they may have been left at zero.
    pub recover: Vec<GroupRef>,
    /// Groups that would be recycled if this were no dry run.
    pub pretend: Vec<Begin>,
    /// Groups that have too many events and are left alone, and why.
    pub held: Vec<(GroupRef, Hold)>,
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
    pub counts: BTreeMap<GroupRef, u64>,
    /// The newest that leads to no group yet, and why.
    pub example: Option<String>,
}

/// A group whose recycle begins, if it can be recycled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Which group.
    pub group: GroupRef,
    /// How many events led to it.
    pub events: u64,
}

impl Begin {
    /// What is asked for, by the EventRecycler of this uid.
    pub fn request(&self, asked_by: &Uid, settings: &Settings) -> Request {
        Request {
            group: self.group.clone(),
            asked_by: asked_by.clone(),
            strategy: settings.strategy,
            events: i64::try_from(self.events).unwrap_or(i64::MAX),
        }
    }
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
    /// The groups whose recycle may begin, as far as they were looked at: none after the first that can be recycled.
    pub begun: Vec<Begun>,
    /// What the groups are like that may have been left at zero.
    pub recovered: Vec<(GroupRef, Sight)>,
    /// What came of the finalizer: whether it was written, which it is not in a dry run.
    pub finalizer: Option<Result<bool, Failure>>,
}

/// What a group is like whose recycle may begin.
#[derive(Debug, Clone)]
pub struct Begun {
    /// Which, and why.
    pub begin: Begin,
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
            Some(Finalizer::Add) => f.write_str("put our finalizer on, and then: ")?,
            Some(Finalizer::Remove) => f.write_str("take our finalizer off, and then: ")?,
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
        for group in &self.recover {
            write!(f, "see whether {group} was left at zero; ")?;
        }
        if self.begin.is_empty() {
            return f.write_str("begin nothing");
        }
        let mut before = "";
        for Begin { group, events } in &self.begin {
            write!(f, "{before}recycle {group} for {events} events")?;
            before = ", or if it is refused ";
        }
        Ok(())
    }
}
