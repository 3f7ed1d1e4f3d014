//! Builds the snapshot: the EventRecycler, its occurrences, and what is known of the groups that it may recycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::RecyclerController;
use super::abandoned;
use super::detection::counting::Located;
use super::error::Refusal;
use super::recycling;
use super::settings::{self, Settings};
use super::snapshot::{Facts, GroupView, Snapshot, is_recycling};
use crate::kinds::EventRecycler;

pub(super) async fn observe(
    controller: &RecyclerController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = controller.recyclers.get_certain(key).await? else {
        controller.detection.tracker.forget(key);
        controller.abandoned.forget(key);
        return Ok(None);
    };
    let meta = entry.meta().clone();
    let facts = match entry {
        Entry::Undecodable(object) => Err(Refusal::Undecodable(object.error.clone())),
        Entry::Known(recycler) => {
            // A live read may return a change that no subscriber got yet.
            controller.detection.track(&recycler);
            match facts(controller, &recycler).await? {
                Some(facts) => Ok(Box::new(facts)),
                None => return Ok(None),
            }
        }
    };
    Ok(Some(Snapshot { meta, facts }))
}

async fn facts(
    controller: &RecyclerController,
    recycler: &EventRecycler,
) -> Result<Option<Facts>, ApiError> {
    let Some(facts) = controller.detection.facts(recycler, &controller.timings) else {
        return Ok(None);
    };
    let mut others = Vec::new();
    for key in controller.recyclers.keys().iter().filter(|key| **key != recycler.meta.key) {
        if let Some(Entry::Known(other)) = controller.recyclers.get(key) {
            others.push((Arc::clone(&key.name), Arc::clone(&other.status)));
        }
    }
    let unchecked = match &facts.settings {
        Ok(settings) => unchecked(controller, recycler, settings, &others),
        Err(_) => Vec::new(),
    };
    let located = facts.news.iter().chain(&facts.reopened).filter_map(Located::group);
    let groups = groups(controller, facts.counting.groups.keys().chain(located).chain(&unchecked));
    Ok(Some(Facts {
        recycles: recycles(controller, recycler).await?,
        others,
        unchecked,
        groups,
        own_node: controller.recycling.own_node.clone(),
        ..facts
    }))
}

async fn recycles(
    controller: &RecyclerController,
    recycler: &EventRecycler,
) -> Result<Vec<recycling::Snapshot>, ApiError> {
    let settings = settings::for_recycles(recycler.spec.as_deref(), &controller.timings);
    let owner: Arc<str> = recycling::mark::owner_of(&recycler.meta.key.name).into();
    let mut snapshots = Vec::new();
    for recycle in recycler.status.recycles.iter().flatten() {
        let owner = Arc::clone(&owner);
        let one = controller.recycling.observe(recycle, owner, settings).await?;
        snapshots.push(recycling::Snapshot { cancelled: recycler.meta.deleting, ..one });
    }
    Ok(snapshots)
}

fn groups<'a>(
    controller: &RecyclerController,
    groups: impl Iterator<Item = &'a GroupRef>,
) -> BTreeMap<GroupRef, GroupView> {
    let mut views = BTreeMap::new();
    for name in groups {
        let group = controller.recycling.group_cache.cached(name);
        if views.contains_key(name) || matches!(group, Observed::NotAsked) {
            continue;
        }
        let members = group.present().into_iter().flat_map(|group| &group.members);
        let nodes = controller.recycling.nodes_of(members.map(|member| &member.id));
        views.insert(name.clone(), GroupView { group, nodes });
    }
    views
}

/// The groups that the EventRecycler names and that were not checked for an interrupted recycle yet.
fn unchecked(
    controller: &RecyclerController,
    recycler: &EventRecycler,
    settings: &Settings,
    others: &[(Arc<str>, Arc<EventRecyclerStatus>)],
) -> Vec<GroupRef> {
    let status = &recycler.status;
    let named = abandoned::named(settings, status, controller.detection.locator.region.as_ref());
    controller.abandoned.unchecked(recycler, named, |group| {
        let mut statuses = others.iter().map(|(_, other)| other).chain([status]);
        statuses.any(|status| is_recycling(status, group))
            || match controller.recycling.group_cache.cached(group) {
                Observed::Present(found) => abandoned::left_at_zero(&found).is_none(),
                Observed::Absent => true,
                Observed::NotAsked | Observed::Unknown(_) => false,
            }
    })
}
