//! Input of the decision about one EventRecycler.
//!
//! A recycle in progress has stages of its own (`recycling`): there is one snapshot of it for each recycle in the
//! status.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_domain::key::Version;
use machinist_domain::meta::Meta;
use machinist_provider::node_groups::{GroupRef, InstanceId};

use super::detection::counting::{Counting, Located};
use super::error::Refusal;
use super::recycling::{self, GroupState};
use super::settings::Settings;
use super::timings::RecyclerTimings;

/// Input of the decision about one EventRecycler.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Identity and version.
    pub meta: Meta,
    /// The content.
    pub content: Content,
}

/// The content of an EventRecycler.
#[derive(Debug, Clone)]
pub enum Content {
    /// It cannot be decoded, because of this.
    Undecodable(String),
    /// It was decoded.
    Read(Box<Facts>),
}

/// What is known of an EventRecycler.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The generation of the spec.
    pub generation: i64,
    /// The finalizers of the object.
    pub finalizers: Box<[String]>,
    /// The spec, or why it is invalid.
    pub settings: Result<Arc<Settings>, Refusal>,
    /// The stored status.
    pub status: Arc<EventRecyclerStatus>,
    /// The stored counts; empty where they belong to another generation.
    pub counting: Counting,
    /// Events are known up to this version.
    pub position: Version,
    /// Occurrences after the mark, up to the position.
    pub news: Vec<Located>,
    /// Whether occurrences beyond the position are known: the list that brings them is not complete.
    pub incomplete: bool,
    /// Occurrences that had no group when they were stored, located again.
    pub reopened: Vec<Located>,
    /// What other EventRecyclers do and did.
    pub others: Vec<OtherActivity>,
    /// The recycles in progress.
    pub recycles: Vec<recycling::Snapshot>,
    /// Groups that an interrupted recycle may have left at size zero, and that were not checked yet.
    pub unchecked: Vec<GroupRef>,
    /// Groups that were described recently.
    pub groups: BTreeMap<GroupRef, GroupView>,
    /// The Node that this process runs on.
    pub own_node: Option<Arc<str>>,
    /// The durations that no EventRecycler sets.
    pub timings: RecyclerTimings,
}

/// A group and the Nodes of its instances.
#[derive(Debug, Clone)]
pub struct GroupView {
    /// The group.
    pub group: GroupState,
    /// The Nodes of its instances.
    pub nodes: BTreeMap<InstanceId, recycling::snapshot::Node>,
}

impl Facts {
    /// The longest time between two evaluations, where the spec is valid.
    pub fn watch_interval(&self) -> Option<Duration> {
        let settings = self.settings.as_ref().ok()?;
        Some(settings.watch_interval.max(self.timings.shortest_interval))
    }

    /// How long the description of a group that may be recycled is cached.
    pub fn group_age(&self) -> Duration {
        self.watch_interval().unwrap_or_default().min(self.timings.group_age)
    }

    /// Whether a recycle with this id is stored in any EventRecycler.
    pub fn is_active(&self, id: &str) -> bool {
        let here = self.recycles.iter().any(|one| one.recycle.id == id);
        let there =
            |activity: &Activity| matches!(activity, Activity::Recycles(other) if other == id);
        here || self.others.iter().any(|one| there(&one.activity))
    }
}

/// What another EventRecycler does to a group, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherActivity {
    /// Its name.
    pub recycler: Arc<str>,
    /// The name of the group.
    pub group: Arc<str>,
    /// The region of the group; old history entries have none.
    pub region: Option<Arc<str>>,
    /// What it does or did.
    pub activity: Activity,
}

impl OtherActivity {
    /// Whether it concerns this group.
    pub fn is_about(&self, group: &GroupRef) -> bool {
        self.region.as_ref().is_none_or(|region| *region == group.region)
            && self.group == group.name.0
    }
}

/// What an EventRecycler does to a group, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// A recycle with this id is in progress.
    Recycles(String),
    /// A recycle ended then.
    Recycled(Timestamp),
}
