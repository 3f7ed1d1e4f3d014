//! Builds the snapshot: the EventRecycler from the cache, its occurrences, and what is known of the groups that it
//! recycles or may recycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::RecyclerController;
use super::abandoned;
use super::detection::counting::{Counting, Located, Target};
use super::history;
use super::recycling::{self, group_of};
use super::settings::{self, Settings};
use super::snapshot::{Activity, Content, Facts, GroupView, OtherActivity, Snapshot};
use crate::kinds::EventRecycler;

pub(super) async fn observe(
    controller: &RecyclerController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = controller.recyclers.get_certain(key).await? else {
        controller.event_tracker.forget(key);
        controller.abandoned.forget(key);
        return Ok(None);
    };
    let meta = entry.meta().clone();
    let content = match entry {
        Entry::Undecodable(object) => Content::Undecodable(object.error.clone()),
        Entry::Known(recycler) => {
            // A live read may return a change that no subscriber got yet.
            controller.event_tracker.track(&recycler, &*controller.events);
            match facts(controller, &recycler).await? {
                Some(facts) => Content::Read(Box::new(facts)),
                None => return Ok(None),
            }
        }
    };
    Ok(Some(Snapshot { meta, content }))
}

async fn facts(
    controller: &RecyclerController,
    recycler: &EventRecycler,
) -> Result<Option<Facts>, ApiError> {
    let status = &recycler.status;
    let counting = counting(recycler);
    // The position comes first: occurrences up to it are complete.
    let position = controller.events.survey(|position, _| position);
    let key = &recycler.meta.key;
    let Some(known) = controller.event_tracker.occurrences(key, counting.mark, position) else {
        return Ok(None);
    };
    let (mut news, mut reopened) = (Vec::new(), Vec::new());
    if let Ok(settings) = &known.settings {
        let locate = |one| controller.locator.locate(one, settings);
        news = known.occurrences.into_iter().map(locate).collect();
        reopened = counting.open.iter().cloned().map(locate).collect();
    }
    let open = news.iter().chain(&reopened).any(|one| matches!(one.target, Target::Unresolved(_)));
    controller.event_tracker.set_unresolved(key, open);
    let others = others(controller, key);
    let unchecked = match &known.settings {
        Ok(settings) => unchecked(controller, recycler, settings, &others),
        Err(_) => Vec::new(),
    };
    let located = news.iter().chain(&reopened).filter_map(Located::group);
    let groups = groups(controller, counting.groups.keys().chain(located).chain(&unchecked));
    Ok(Some(Facts {
        generation: recycler.generation,
        finalizers: recycler.finalizers.clone(),
        settings: known.settings,
        status: Arc::clone(status),
        recycles: recycles(controller, recycler).await?,
        counting,
        position,
        news,
        incomplete: known.incomplete,
        reopened,
        others,
        unchecked,
        groups,
        own_node: controller.recycling.own_node().map(Arc::from),
        timings: controller.timings,
    }))
}

/// The stored counts, if they belong to the present generation.
pub(super) fn counting(recycler: &EventRecycler) -> Counting {
    let status = &recycler.status;
    let is_current = status.observed_generation == Some(recycler.generation);
    Counting::read(status.counting.as_ref().filter(|_| is_current))
}

/// Events are counted up to this version for the present generation.
pub(super) fn mark(recycler: &EventRecycler) -> Version {
    counting(recycler).mark
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

/// Those of the groups that were described recently.
fn groups<'a>(
    controller: &RecyclerController,
    groups: impl Iterator<Item = &'a GroupRef>,
) -> BTreeMap<GroupRef, GroupView> {
    let mut views = BTreeMap::new();
    for name in groups {
        let group = controller.recycling.cached(name);
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
    others: &[OtherActivity],
) -> Vec<GroupRef> {
    let status = &recycler.status;
    let named = abandoned::named(settings, status, controller.locator.region.as_ref());
    let mut unchecked = controller.abandoned.unchecked(recycler, named, |group| {
        let here = status.recycles.iter().flatten().any(|one| group_of(one) == *group);
        let busy = |one: &OtherActivity| matches!(one.activity, Activity::Recycles(_));
        here || others.iter().any(|one| busy(one) && one.is_about(group))
    });
    unchecked.retain(|group| {
        let is_fine = match controller.recycling.cached(group) {
            Observed::Present(found) => abandoned::left_at_zero(&found).is_none(),
            Observed::Absent => true,
            Observed::NotAsked | Observed::Unknown(_) => false,
        };
        if is_fine {
            controller.abandoned.set_checked(&recycler.meta.key, group);
        }
        !is_fine
    });
    unchecked
}

/// What the other EventRecyclers do and did.
fn others(controller: &RecyclerController, own: &ObjectKey) -> Vec<OtherActivity> {
    let mut all = Vec::new();
    for key in controller.recyclers.keys().iter().filter(|key| *key != own) {
        if let Some(Entry::Known(recycler)) = controller.recyclers.get(key) {
            all.extend(activities(&key.name, &recycler.status));
        }
    }
    all
}

fn activities(
    recycler: &Arc<str>,
    status: &EventRecyclerStatus,
) -> impl Iterator<Item = OtherActivity> {
    let of = move |group: &str, region: Option<&str>, activity| OtherActivity {
        recycler: Arc::clone(recycler),
        group: group.into(),
        region: region.map(Arc::from),
        activity,
    };
    let active = status.recycles.iter().flatten();
    let active = active
        .map(move |one| of(&one.group, Some(&one.region), Activity::Recycles(one.id.clone())));
    let past = status.recycle_history.iter().flatten().filter(|entry| history::was_done(entry));
    let past = past.filter_map(move |entry| {
        let activity = Activity::Recycled(history::ended(entry)?);
        Some(of(entry.node_group.as_deref()?, entry.region.as_deref(), activity))
    });
    active.chain(past)
}
