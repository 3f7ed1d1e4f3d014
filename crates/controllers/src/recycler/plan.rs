//! What to do about one EventRecycler and the result, as data.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::key::Uid;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::GroupRef;

use super::detection::counting::Counting;
use super::error::Refusal;
use super::recycling::{self, Request};
use super::settings::Settings;

/// What to do about one EventRecycler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Why the spec is invalid. Nothing is counted then.
    pub refusal: Option<Refusal>,
    /// What was counted.
    pub counted: Option<Counted>,
    /// The next step of every recycle in progress, in their order.
    pub steps: Vec<recycling::Plan>,
    /// A change of the finalizer. Nothing else is done in the same reconcile, because the rest relies on it.
    pub finalizer: Option<Finalizer>,
    /// Groups that reached the threshold and that nothing holds, the one with the most events first.
    pub candidates: Vec<Candidate>,
    /// Groups to describe before a recycle can begin.
    pub describe: Vec<GroupRef>,
    /// The recycle that begins. One per reconcile, so that the next decision sees it.
    pub begin: Option<Begin>,
    /// Candidates that cannot be recycled.
    pub blocked: Vec<Blocked>,
    /// Groups that an interrupted recycle may have left at size zero, and that cannot be described.
    pub unreachable: Vec<(GroupRef, Failure)>,
    /// Groups that would be recycled without `dryRun`.
    pub pretend: Vec<Candidate>,
    /// Groups that reached the threshold and are not recycled now.
    pub held: Vec<(GroupRef, Hold)>,
}

/// A change of the recycler's finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    /// Add it: the object must stay while a recycle is in progress.
    Add,
    /// Remove it: no recycle is in progress.
    Remove,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// What to store.
    pub counting: Counting,
    /// The count of each group that has one.
    pub counts: BTreeMap<GroupRef, u64>,
    /// The newest occurrence without a group, and why it has none.
    pub example: Option<String>,
}

/// A group that reached the threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Which group.
    pub group: GroupRef,
    /// Its count.
    pub events: u64,
}

impl Candidate {
    /// The request of the EventRecycler with this uid.
    pub fn request(&self, requested_by: &Uid, settings: &Settings) -> Request {
        Request {
            group: self.group.clone(),
            requested_by: requested_by.clone(),
            strategy: settings.strategy,
            events: i64::try_from(self.events).unwrap_or(i64::MAX),
        }
    }
}

/// A recycle that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// What to store.
    pub recycle: Recycle,
    /// Why it begins.
    pub cause: Cause,
}

/// Why a recycle begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its group reached the threshold.
    Threshold,
    /// An interrupted recycle left its group at size zero.
    LeftAtZero,
}

/// A candidate that cannot be recycled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// Which group.
    pub group: GroupRef,
    /// Why.
    pub by: BlockedBy,
}

/// Why a candidate cannot be recycled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockedBy {
    /// The group does not exist.
    NotFound,
    /// The group cannot be described.
    Unreachable(Failure),
    /// The group is not in a state to be recycled.
    Refused(recycling::Refusal),
}

impl BlockedBy {
    /// The reason as it is stored. Reasons are never renamed.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::Unreachable(_) => "Unreachable",
            Self::Refused(refusal) => refusal.reason(),
        }
    }
}

/// Why a group that reached the threshold is not recycled now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Its recycle is in progress.
    Active,
    /// The EventRecycler of this name recycles it.
    Elsewhere(Arc<str>),
    /// It was recycled, and its cool-down ends then.
    CoolDown(Timestamp),
    /// `maxConcurrent` recycles are in progress.
    Concurrency,
    /// The schedule is closed; it opens then, if ever.
    Schedule(Option<Timestamp>),
}

impl Hold {
    /// The reason in the condition `Recycling`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Elsewhere(_) => "Elsewhere",
            Self::CoolDown(_) => "CoolDown",
            Self::Concurrency => "Concurrency",
            Self::Schedule(_) => "Schedule",
        }
    }
}

impl Plan {
    /// Whether it changes what is stored about recycles. Nothing else is done in the same reconcile then.
    pub fn stores(&self) -> bool {
        let stored = |step: &recycling::Plan| matches!(step, recycling::Plan::Store(_));
        self.begin.is_some() || self.steps.iter().any(stored)
    }
}

/// The result of a plan.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The results of the steps; empty where something was written instead.
    pub steps: Vec<recycling::Outcome>,
    /// The write of the finalizer or of the recycles, where the plan has one: whether anything was written.
    pub written: Option<Result<bool, Failure>>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.finalizer {
            None => {}
            Some(Finalizer::Add) => f.write_str("add the finalizer; then ")?,
            Some(Finalizer::Remove) => f.write_str("remove the finalizer; then ")?,
        }
        if let Some(refusal) = &self.refusal {
            write!(f, "count nothing: {refusal}; ")?;
        }
        for step in &self.steps {
            write!(f, "{step}; ")?;
        }
        for Candidate { group, events } in &self.pretend {
            write!(f, "would recycle {group} for {events} events; ")?;
        }
        for (group, hold) in &self.held {
            write!(f, "hold {group} ({}); ", hold.reason())?;
        }
        for Blocked { group, by } in &self.blocked {
            write!(f, "cannot recycle {group} ({}); ", by.reason())?;
        }
        for group in &self.describe {
            match self.candidates.iter().find(|one| one.group == *group) {
                Some(one) => {
                    write!(f, "recycle {group} for {} events once it is described; ", one.events)?;
                }
                None => write!(f, "describe {group}; ")?,
            }
        }
        match &self.begin {
            Some(Begin { recycle, .. }) => {
                write!(
                    f,
                    "recycle {}/{} for {} events",
                    recycle.region, recycle.group, recycle.events
                )
            }
            None => f.write_str("begin no recycle"),
        }
    }
}
