//! Carries a plan out: the next step of every recycle under way, and a look at the group whose recycle begins.
//!
//! A recycle begins by being stored, which the report does. So nothing is changed here that is not stored already.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::names::FINALIZER_RECYCLER;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::Pending;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{Guard, Part, Writer};
use serde_json::json;

use super::RecyclerController;
use super::plan::{Begin, Begun, Finalizer, Outcome, Plan};
use super::recycling::{self, Sight};
use super::snapshot::{Content, Facts, Snapshot};
use crate::kinds::EventRecyclers;

/// How often the cloud is asked at most about a group that could be recycled.
const BETWEEN_LOOKS: Duration = Duration::from_secs(15);

pub(super) async fn act(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let mut outcome =
        Outcome { plan: plan.clone(), steps: Vec::new(), begun: None, finalizer: None };
    let Content::Read(facts) = &snapshot.content else { return outcome };
    if let Some(finalizer) = plan.finalizer {
        outcome.finalizer = Some(set(controller, snapshot, facts, finalizer, writer).await);
        return outcome;
    }
    outcome.steps = steps(controller, snapshot, facts, plan, writer).await;
    if let Some(begin) = &plan.begin {
        outcome.begun = Some(look(controller, begin, facts).await);
    }
    outcome
}

/// Puts our finalizer on or takes it off; everybody else's stay.
async fn set(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    facts: &Facts,
    finalizer: Finalizer,
    writer: &Writer,
) -> Result<bool, Failure> {
    let others = facts.finalizers.iter().map(String::as_str);
    let mut list: Vec<_> = others.filter(|name| *name != FINALIZER_RECYCLER).collect();
    let why = match finalizer {
        Finalizer::Add => {
            list.push(FINALIZER_RECYCLER);
            "stay until what is recycled is"
        }
        Finalizer::Remove => "nothing is recycled any more",
    };
    let patch = json!({"metadata": {"finalizers": list}});
    let (cache, meta) = (&controller.recyclers, &snapshot.meta);
    let written = writer.patch(cache, meta, Part::Object, Guard::Version, patch, &why).await;
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

/// Where the group is refused, every event that follows leads here again: the cloud is not asked each time.
async fn look(controller: &RecyclerController, begin: &Begin, facts: &Facts) -> Begun {
    let recycling = &controller.recycling;
    let age = facts.settings.as_ref().map_or(Duration::ZERO, |it| it.watch_interval);
    let sight = recycling.look_lately(&begin.group, age.min(BETWEEN_LOOKS)).await;
    let nodes = match &sight {
        Sight::There(group) => recycling.nodes_of(group.members.iter().map(|member| &member.id)),
        Sight::Gone | Sight::Unknown(_) => BTreeMap::new(),
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
            // What is deleted is cancelled, which is decided first; to put things right is wanted in a dry run too.
            let deleting = recycler.meta.deleting;
            let wanted = deleting == self.snapshot.deleting && (deleting || !pretends);
            Ok(same && wanted && stored.into_iter().any(|one| one == recycle))
        })
    }
}
