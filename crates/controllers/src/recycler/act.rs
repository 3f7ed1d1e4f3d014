//! Carries a plan out: the next step of every recycle under way, and a look at the groups whose recycle may begin and at those that may have been left at zero.
//!
//! A recycle begins by being stored, which the report does. So nothing is changed here that is not stored already.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::names::FINALIZER_RECYCLER;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::Pending;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{Guard, Part, Writer};
use serde_json::json;

use super::RecyclerController;
use super::leftovers::left_at_zero;
use super::plan::{Begin, Begun, Finalizer, Outcome, Plan};
use super::recycling::{self, Recycling, Sight, objection};
use super::snapshot::{Content, Facts, Snapshot};
use crate::kinds::EventRecyclers;

pub(super) async fn act(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let mut outcome = Outcome {
        plan: plan.clone(),
        steps: Vec::new(),
        begun: Vec::new(),
        recovered: Vec::new(),
        finalizer: None,
    };
    let Content::Read(facts) = &snapshot.content else { return outcome };
    if let Some(finalizer) = plan.finalizer {
        outcome.finalizer = Some(set(controller, snapshot, finalizer, plan, writer).await);
        return outcome;
    }
    outcome.steps = steps(controller, snapshot, facts, plan, writer).await;
    outcome.recovered = recover(controller, snapshot, &plan.recover).await;
    outcome.begun = look(&controller.recycling, snapshot, facts, &plan.begin).await;
    outcome
}

/// Puts our finalizer on or takes it off; everybody else's stay.
async fn set(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    finalizer: Finalizer,
    plan: &Plan,
    writer: &Writer,
) -> Result<bool, Failure> {
    let Content::Read(facts) = &snapshot.content else { return Ok(false) };
    let others = facts.finalizers.iter().map(String::as_str);
    let mut list: Vec<_> = others.filter(|name| *name != FINALIZER_RECYCLER).collect();
    if finalizer == Finalizer::Add {
        list.push(FINALIZER_RECYCLER);
    }
    let patch = json!({"metadata": {"finalizers": list}});
    let (cache, meta) = (&controller.recyclers, &snapshot.meta);
    // In a dry run this is the last that is heard of the plan.
    let written = writer.patch(cache, meta, Part::Object, Guard::Version, patch, plan).await;
    match written {
        Ok(written) => Ok(written.is_some()),
        // Whoever deleted it is in no need of a finalizer.
        Err(error) if error.not_found() => Ok(false),
        Err(error) => Err(error.failure()),
    }
}

async fn steps(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    facts: &Facts,
    plan: &Plan,
    writer: &Writer,
) -> Vec<recycling::Outcome> {
    let owner =
        Owner { recyclers: Arc::clone(&controller.recyclers), snapshot: snapshot.meta.clone() };
    let mut outcomes = Vec::new();
    for (recycle, plan) in facts.recycles.iter().zip(&plan.steps) {
        outcomes.push(controller.recycling.act(recycle, plan, &owner, writer).await);
    }
    outcomes
}

/// Looks at the groups whose recycle may begin, up to the first that can be recycled. Where one is refused, every event that follows leads here
/// again: the cloud is not asked each time. A region that does not answer for one group is not asked for another.
async fn look(
    recycling: &Recycling,
    snapshot: &Snapshot,
    facts: &Facts,
    candidates: &[Begin],
) -> Vec<Begun> {
    let Ok(settings) = &facts.settings else { return Vec::new() };
    let age = facts.watch_interval().unwrap_or_default().min(facts.timings.group_age);
    let (mut seen, mut silent) = (Vec::new(), BTreeSet::new());
    for begin in candidates {
        if silent.contains(&begin.group.region) {
            continue;
        }
        let sight = recycling.look_lately(&begin.group, age).await;
        let own_node = recycling.own_node();
        let mut nodes = BTreeMap::new();
        let mut fits = false;
        match &sight {
            Sight::There(group) => {
                nodes = recycling.nodes_of(group.members.iter().map(|member| &member.id));
                let request = begin.request(&snapshot.meta.uid, settings);
                let is_active = |id: &str| facts.is_active(id);
                fits = objection(&request, group, &nodes, own_node, is_active).is_none();
            }
            Sight::Gone => {}
            Sight::Unknown(_) => {
                silent.insert(Arc::clone(&begin.group.region));
            }
        }
        let own_node = own_node.map(Arc::from);
        seen.push(Begun { begin: begin.clone(), sight, nodes, own_node });
        if fits {
            break;
        }
    }
    seen
}

/// Looks at groups that may have been left at zero. What is not, or does not exist, is not looked at again.
async fn recover(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    groups: &[GroupRef],
) -> Vec<(GroupRef, Sight)> {
    let mut seen = Vec::new();
    for group in groups {
        let sight = controller.recycling.look(group).await;
        let settled = match &sight {
            Sight::There(group) => left_at_zero(group).is_none(),
            Sight::Gone => true,
            Sight::Unknown(_) => false,
        };
        let silent = matches!(sight, Sight::Unknown(_));
        if settled {
            controller.leftovers.saw(&snapshot.meta.key, group);
        }
        seen.push((group.clone(), sight));
        // The others will not be answered for either.
        if silent {
            break;
        }
    }
    seen
}

/// The EventRecycler that wants a recycle.
#[derive(Debug)]
struct Owner {
    recyclers: Arc<Cache<EventRecyclers>>,
    snapshot: machinist_domain::meta::Meta,
}

impl recycling::Owner for Owner {
    fn key(&self) -> ObjectKey {
        self.snapshot.key.clone()
    }

    fn still_wants<'a>(&'a self, recycle: &'a Recycle) -> Pending<'a, Result<bool, Failure>> {
        Box::pin(async move {
            let read = self.recyclers.read_live(&self.snapshot.key).await;
            let Some(entry) = read.map_err(|error| error.failure())? else { return Ok(false) };
            let Entry::Known(recycler) = entry else { return Ok(false) };
            let stored = recycler.status.recycles.iter().flatten();
            let same = recycler.meta.uid == self.snapshot.uid;
            let pretends = recycler.spec.as_ref().and_then(|spec| spec.dry_run).unwrap_or_default();
            // What is deleted is cancelled, which is decided first; to put things right is wanted in a dry run too.
            let deleting = recycler.meta.deleting;
            let wanted = deleting == self.snapshot.deleting && (deleting || !pretends);
            Ok(same && wanted && stored.into_iter().any(|one| one == recycle))
        })
    }
}

#[cfg(test)]
mod tests;
