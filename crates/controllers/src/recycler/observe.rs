//! Gathers a snapshot: the EventRecycler from the cache, what has happened for it, and what is known of the groups that it recycles.

use std::sync::Arc;

use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_domain::key::{ObjectKey, Version};
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::RecyclerController;
use super::detection::counting::{Counting, Leads};
use super::history;
use super::leftovers;
use super::recycling::group_of;
use super::settings::{self, Settings};
use super::snapshot::{Content, Deed, Elsewhere, Facts, Snapshot};
use crate::kinds::EventRecycler;

pub(super) async fn observe(
    controller: &RecyclerController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = controller.recyclers.get_certain(key).await? else {
        controller.watchers.forget(key);
        controller.leftovers.forget(key);
        return Ok(None);
    };
    let meta = entry.meta().clone();
    let content = match entry {
        Entry::Undecodable(object) => Content::Undecodable(object.error.clone()),
        Entry::Known(recycler) => {
            // A live read may have brought what no subscriber has told of yet.
            controller.watchers.follow(&recycler, &*controller.events);
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
    // The position comes first: what is noted up to it is complete.
    let position = controller.events.survey(|position, _| position);
    let key = &recycler.meta.key;
    let Some(known) = controller.watchers.known(key, counting.mark, position) else {
        return Ok(None);
    };
    let (mut news, mut reopened) = (Vec::new(), Vec::new());
    if let Ok(settings) = &known.settings {
        let locate = |one| controller.places.locate(one, settings);
        news = known.noted.into_iter().map(locate).collect();
        reopened = counting.open.iter().cloned().map(locate).collect();
    }
    let open = news.iter().chain(&reopened).any(|one| matches!(one.leads, Leads::Open(_)));
    controller.watchers.waits(key, open);
    let under_way = recycles(controller, recycler).await?;
    let elsewhere = elsewhere(controller, key);
    let unseen = match &known.settings {
        Ok(settings) => unseen(controller, recycler, settings, &elsewhere),
        Err(_) => Vec::new(),
    };
    Ok(Some(Facts {
        generation: recycler.generation,
        finalizers: recycler.finalizers.clone(),
        settings: known.settings,
        status: Arc::clone(status),
        counting,
        position,
        news,
        ahead: known.ahead,
        reopened,
        elsewhere,
        recycles: under_way,
        unseen,
        timings: controller.timings,
    }))
}

/// What was counted for the spec as it is now.
pub(super) fn counting(recycler: &EventRecycler) -> Counting {
    let status = &recycler.status;
    let is_current = status.observed_generation == Some(recycler.generation);
    Counting::read(status.counting.as_ref().filter(|_| is_current))
}

/// Up to where events are counted for the spec as it is now.
pub(super) fn mark(recycler: &EventRecycler) -> Version {
    counting(recycler).mark
}

async fn recycles(
    controller: &RecyclerController,
    recycler: &EventRecycler,
) -> Result<Vec<super::recycling::Snapshot>, ApiError> {
    let settings = settings::for_recycles(recycler.spec.as_deref(), &controller.timings);
    let owner: Arc<str> = super::recycling::mark::owner_of(&recycler.meta.key.name).into();
    let mut seen = Vec::new();
    for recycle in recycler.status.recycles.iter().flatten() {
        let owner = Arc::clone(&owner);
        let one = controller.recycling.observe(recycle, owner, settings).await?;
        seen.push(super::recycling::Snapshot { cancelled: recycler.meta.deleting, ..one });
    }
    Ok(seen)
}

/// The groups that it names and that nobody has looked at yet.
fn unseen(
    controller: &RecyclerController,
    recycler: &EventRecycler,
    settings: &Settings,
    elsewhere: &[Elsewhere],
) -> Vec<GroupRef> {
    let status = &recycler.status;
    let named = leftovers::named(settings, status, controller.places.region.as_ref());
    controller.leftovers.unseen(recycler, named, |group| {
        let here = status.recycles.iter().flatten().any(|one| group_of(one) == *group);
        let busy = |one: &Elsewhere| matches!(one.what, Deed::Recycles(_));
        here || elsewhere.iter().any(|one| busy(one) && one.is_about(group))
    })
}

/// What the other EventRecyclers do and have done.
fn elsewhere(controller: &RecyclerController, own: &ObjectKey) -> Vec<Elsewhere> {
    let mut all = Vec::new();
    for key in controller.recyclers.keys().iter().filter(|key| *key != own) {
        if let Some(Entry::Known(recycler)) = controller.recyclers.get(key) {
            all.extend(deeds(&key.name, &recycler.status));
        }
    }
    all
}

fn deeds(recycler: &Arc<str>, status: &EventRecyclerStatus) -> impl Iterator<Item = Elsewhere> {
    let deed = move |group: &str, region: Option<&str>, what| Elsewhere {
        recycler: Arc::clone(recycler),
        group: group.into(),
        region: region.map(Arc::from),
        what,
    };
    let active = status.recycles.iter().flatten();
    let active =
        active.map(move |one| deed(&one.group, Some(&one.region), Deed::Recycles(one.id.clone())));
    let past = status.recycle_history.iter().flatten().filter(|entry| history::was_done(entry));
    let past = past.filter_map(move |entry| {
        let what = Deed::Recycled(history::ended(entry)?);
        Some(deed(entry.node_group.as_deref()?, entry.region.as_deref(), what))
    });
    active.chain(past)
}
