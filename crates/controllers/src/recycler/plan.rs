use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::GroupRef;

use super::detection::counting::Counting;
use super::error::Refusal;
use super::recycling;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Why the spec is invalid. Nothing is counted then.
    pub refusal: Option<Refusal>,
    pub counted: Option<Counted>,
    /// In the order of the recycles.
    pub(crate) steps: Vec<recycling::Plan>,
    /// A change of the finalizer. Nothing else is done in the same reconcile, because the rest relies on it.
    pub(crate) finalizer: Option<Finalizer>,
    /// Groups that reached the threshold and that nothing holds, the one with the most events first.
    pub candidates: Vec<Candidate>,
    pub(crate) describe: Vec<GroupRef>,
    /// The recycle that begins. One per reconcile, so that the next decision sees it.
    pub(crate) begin: Option<Recycle>,
    pub(crate) blocked: Vec<(GroupRef, recycling::Refusal)>,
    /// Groups that an interrupted recycle may have left at size zero, and that cannot be described.
    pub(crate) unreachable: Vec<(GroupRef, Failure)>,
    /// Groups that would be recycled without `dryRun`.
    pub pretend: Vec<Candidate>,
    pub(crate) held: Vec<(GroupRef, Hold)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finalizer {
    Add,
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub counting: Counting,
    pub counts: BTreeMap<GroupRef, u64>,
    /// The newest occurrence without a group, and why it has none.
    pub example: Option<String>,
}

/// A group that reached the threshold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub group: GroupRef,
    pub events: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hold {
    Active,
    Elsewhere(Arc<str>),
    CoolDown(Timestamp),
    Concurrency,
    /// The schedule is closed; it opens then, if ever.
    Schedule(Option<Timestamp>),
}

impl Hold {
    pub(crate) fn reason(&self) -> &'static str {
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
        let stored = |step: &recycling::Plan| matches!(step.action, recycling::Action::Store(_));
        self.begin.is_some() || self.steps.iter().any(stored)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The results of the steps; empty where something was written instead.
    pub(crate) steps: Vec<recycling::Outcome>,
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
        for (group, by) in &self.blocked {
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
            Some(Recycle { region, group, events, .. }) => {
                write!(f, "recycle {region}/{group} for {events} events")
            }
            None => f.write_str("begin no recycle"),
        }
    }
}
