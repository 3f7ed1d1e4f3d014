//! Input of the decision about one EventRecycler. Each recycle in progress has a snapshot of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::wire;
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::Version;
use machinist_domain::meta::Meta;
use machinist_provider::node_groups::{GroupRef, InstanceId};
use serde_json::json;

use super::detection::counting::{Counting, Located};
use super::error::Refusal;
use super::recycling::{self, GroupState, group_of};
use super::settings::Settings;
use super::timings::RecyclerTimings;
use crate::kinds::Node;

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub meta: Meta,
    /// What is known of it, or why it cannot be decoded.
    pub facts: Result<Box<Facts>, Refusal>,
}

#[derive(Debug, Clone)]
pub struct Facts {
    pub generation: i64,
    pub finalizers: Box<[String]>,
    pub settings: Result<Arc<Settings>, Refusal>,
    pub status: Arc<EventRecyclerStatus>,
    /// The stored counts; empty where they belong to another generation.
    pub counting: Counting,
    pub position: Version,
    /// Occurrences after the mark, up to the position.
    pub news: Vec<Located>,
    /// Whether occurrences beyond the position are known: the list that brings them is not complete.
    pub incomplete: bool,
    /// Occurrences that had no group when they were stored, located again.
    pub reopened: Vec<Located>,
    /// Name and status.
    pub others: Vec<(Arc<str>, Arc<EventRecyclerStatus>)>,
    pub recycles: Vec<recycling::Snapshot>,
    /// Groups that an interrupted recycle may have left at size zero, and that were not checked yet.
    pub unchecked: Vec<GroupRef>,
    pub groups: BTreeMap<GroupRef, GroupView>,
    pub own_node: Option<Arc<str>>,
    pub timings: RecyclerTimings,
}

#[derive(Debug, Clone)]
pub struct GroupView {
    pub group: GroupState,
    pub nodes: BTreeMap<InstanceId, Arc<Node>>,
}

impl Facts {
    /// The longest time between two evaluations, where the spec is valid.
    pub fn watch_interval(&self) -> Option<Duration> {
        let settings = self.settings.as_ref().ok()?;
        Some(settings.watch_interval.max(self.timings.shortest_interval))
    }

    /// The stored conditions.
    pub fn conditions(&self) -> Vec<Condition> {
        let stored: Vec<wire::Condition> =
            serde_json::from_value(json!(self.status.conditions)).unwrap_or_default();
        conditions::read(&stored)
    }

    /// How long the description of a group that may be recycled is cached.
    pub fn group_age(&self) -> Duration {
        self.watch_interval().unwrap_or_default().min(self.timings.group_age)
    }

    /// Whether a recycle with this id is stored in any EventRecycler.
    pub fn is_active(&self, id: &str) -> bool {
        let others = self.others.iter().flat_map(|(_, status)| status.recycles.iter().flatten());
        let mut all = self.recycles.iter().map(|one| &one.recycle).chain(others);
        all.any(|recycle| recycle.id == id)
    }
}

pub(super) fn is_recycling(status: &EventRecyclerStatus, group: &GroupRef) -> bool {
    status.recycles.iter().flatten().any(|one| group_of(one) == *group)
}
