//! What the decision about one EventRecycler may look at.
//!
//! A recycle that is under way is a part with stages of its own (`recycling`): here are its snapshots, one for each that is
//! stored. A recycle begins by being stored, and from then on it is asked for its next step in every pass.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_domain::key::Version;
use machinist_domain::meta::Meta;
use machinist_provider::node_groups::GroupRef;

use super::detection::counting::{Counting, News};
use super::error::Refusal;
use super::recycling;
use super::settings::Settings;
use super::timings::RecyclerTimings;

/// What the decision about one EventRecycler may look at.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Identity and version.
    pub meta: Meta,
    /// What is in it.
    pub content: Content,
}

/// What is in an EventRecycler.
#[derive(Debug, Clone)]
pub enum Content {
    /// Nobody can tell, because of this.
    Undecodable(String),
    /// This.
    Read(Box<Facts>),
}

/// What is known of an EventRecycler.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Counts the changes of the spec.
    pub generation: i64,
    /// Who wants to do something before it goes.
    pub finalizers: Box<[String]>,
    /// What it asks for, or why that means nothing.
    pub settings: Result<Arc<Settings>, Refusal>,
    /// What its status says.
    pub status: Arc<EventRecyclerStatus>,
    /// What was counted, as it is stored; nothing where that was for another spec.
    pub counting: Counting,
    /// Events are known up to this version.
    pub position: Version,
    /// What has happened beyond the mark, up to the position.
    pub news: Vec<News>,
    /// Whether more has happened, beyond the position, which moves in a moment.
    pub ahead: bool,
    /// What led to no group when it was stored, looked at again.
    pub reopened: Vec<News>,
    /// What other EventRecyclers do and have done.
    pub elsewhere: Vec<Elsewhere>,
    /// The recycles under way.
    pub recycles: Vec<recycling::Snapshot>,
    /// Groups that it names and that nobody has looked at yet: one may have been left at zero.
    pub unseen: Vec<GroupRef>,
    /// The durations that no EventRecycler sets.
    pub timings: RecyclerTimings,
}

impl Facts {
    /// The longest time between two evaluations, where the spec is valid.
    pub fn watch_interval(&self) -> Option<Duration> {
        let settings = self.settings.as_ref().ok()?;
        Some(settings.watch_interval.max(self.timings.shortest_interval))
    }

    /// Whether the recycle of this id is stored anywhere.
    pub fn is_active(&self, id: &str) -> bool {
        let here = self.recycles.iter().any(|one| one.recycle.id == id);
        let there = |deed: &Deed| matches!(deed, Deed::Recycles(other) if other == id);
        here || self.elsewhere.iter().any(|one| there(&one.what))
    }
}

/// What another EventRecycler does to a group, or has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its name.
    pub recycler: Arc<str>,
    /// What the group is called.
    pub group: Arc<str>,
    /// Where it is; what was written down earlier may not say it.
    pub region: Option<Arc<str>>,
    /// What it does or has done.
    pub what: Deed,
}

impl Elsewhere {
    /// Whether it is this group.
    pub fn is_about(&self, group: &GroupRef) -> bool {
        self.region.as_ref().is_none_or(|region| *region == group.region)
            && self.group == group.name.0
    }
}

/// What an EventRecycler does to a group, or has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// It recycles it: the recycle of this id.
    Recycles(String),
    /// It has done so until then.
    Recycled(Timestamp),
}
