//! Executes a plan: one write to the EventRecycler, or the next step of every recycle in progress.
//!
//! What the next step relies on (the finalizer, a recycle that begins or changes its step) is written in a reconcile of
//! its own, guarded by the version that was decided on. So no effect runs before the recycle that needs it is stored.

use std::sync::Arc;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::names::FINALIZER_RECYCLER;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::patch::finalizers;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::Pending;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{Guard, Part, Writer};
use serde_json::{Value, json};

use super::RecyclerController;
use super::plan::{Finalizer, Outcome, Plan};
use super::recycling::{self, group_of};
use super::report;
use super::snapshot::{Content, Facts, Snapshot};
use crate::kinds::EventRecyclers;

pub(super) async fn act(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let Content::Read(facts) = &snapshot.content else { return Outcome::default() };
    let patch = match plan.finalizer {
        Some(change) => {
            let present = change == Finalizer::Add;
            Some((Part::Object, finalizers(&facts.finalizers, FINALIZER_RECYCLER, present)))
        }
        None => stored(controller, facts, plan),
    };
    if let Some((part, patch)) = patch {
        let written = write(controller, snapshot, part, patch, plan, writer).await;
        return Outcome { written: Some(written), ..Outcome::default() };
    }
    let steps = steps(controller, snapshot, facts, plan, writer).await;
    controller.recycling.describe(&plan.describe, facts.group_age()).await;
    Outcome { steps, written: None }
}

/// The status with the recycles of the plan, where it changes them.
fn stored(controller: &RecyclerController, facts: &Facts, plan: &Plan) -> Option<(Part, Value)> {
    if !plan.stores() {
        return None;
    }
    if let Some(begin) = &plan.begin {
        // The first step decides on a description that is not older than its recycle.
        controller.recycling.forget(&group_of(&begin.recycle));
    }
    let status = report::status(facts, plan, controller.recycling.now())?;
    Some((Part::Status, json!({ "status": status })))
}

/// Whether it was written: not in a dry run, and not where the object is gone.
async fn write(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    part: Part,
    patch: Value,
    plan: &Plan,
    writer: &Writer,
) -> Result<bool, Failure> {
    let (cache, meta) = (&controller.recyclers, &snapshot.meta);
    match writer.patch(cache, meta, part, Guard::Version, patch, plan).await {
        Ok(written) => Ok(written.is_some()),
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
    let owner = Owner { recyclers: Arc::clone(&controller.recyclers), meta: snapshot.meta.clone() };
    let mut outcomes = Vec::new();
    for (recycle, plan) in facts.recycles.iter().zip(&plan.steps) {
        outcomes.push(controller.recycling.act(recycle, plan, &owner, writer).await);
    }
    outcomes
}

/// The EventRecycler that owns a recycle.
#[derive(Debug)]
struct Owner {
    recyclers: Arc<Cache<EventRecyclers>>,
    meta: Meta,
}

impl recycling::Owner for Owner {
    fn key(&self) -> ObjectKey {
        self.meta.key.clone()
    }

    fn still_wants<'a>(&'a self, recycle: &'a Recycle) -> Pending<'a, Result<bool, Failure>> {
        Box::pin(async move {
            let read = self.recyclers.read_live(&self.meta.key).await;
            let Some(entry) = read.map_err(|error| error.failure())? else { return Ok(false) };
            let Entry::Known(recycler) = entry else { return Ok(false) };
            let stored = recycler.status.recycles.iter().flatten();
            let same = recycler.meta.uid == self.meta.uid;
            let dry_run = recycler.spec.as_ref().and_then(|spec| spec.dry_run).unwrap_or_default();
            // A deletion cancels the recycle, which has to be decided first. Cleaning up ignores `dryRun`.
            let deleting = recycler.meta.deleting;
            let wanted = deleting == self.meta.deleting && (deleting || !dry_run);
            Ok(same && wanted && stored.into_iter().any(|one| one == recycle))
        })
    }
}

#[cfg(test)]
mod tests;
