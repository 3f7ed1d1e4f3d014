//! Carries a plan out: the next step of every recycle under way, and a look at the group whose recycle begins.
//!
//! A recycle begins by being stored, which the report does. So nothing is changed here that is not stored already.

use std::sync::Arc;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::Pending;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::Writer;

use super::RecyclerController;
use super::plan::{Begin, Begun, Outcome, Plan};
use super::recycling::{self, Sight};
use super::snapshot::{Content, Facts, Snapshot};
use crate::kinds::EventRecyclers;

pub(super) async fn act(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let steps = match &snapshot.content {
        Content::Undecodable(_) => Vec::new(),
        Content::Read(facts) => steps(controller, snapshot, facts, plan, writer).await,
    };
    let begun = match &plan.begin {
        None => None,
        Some(begin) => Some(look(controller, begin).await),
    };
    Outcome { plan: plan.clone(), steps, begun }
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

async fn look(controller: &RecyclerController, begin: &Begin) -> Begun {
    let recycling = &controller.recycling;
    let sight = recycling.look(&begin.group).await;
    let nodes = match &sight {
        Sight::There(group) => recycling.nodes_of(group.members.iter().map(|member| &member.id)),
        Sight::Gone | Sight::Unknown(_) => Default::default(),
    };
    Begun { sight, nodes, own_node: recycling.own_node().map(Arc::from) }
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
            Ok(same && !pretends && stored.into_iter().any(|one| one == recycle))
        })
    }
}
