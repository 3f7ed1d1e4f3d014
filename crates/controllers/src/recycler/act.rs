//! Executes a plan: one write to the EventRecycler, or the next step of every recycle in progress.
//!
//! What the next step relies on (the finalizer, a recycle that begins or changes its step) is written in a reconcile of
//! its own, guarded by the version that was decided on. So no effect runs before the recycle that needs it is stored.

use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::names::FINALIZER_RECYCLER;
use machinist_domain::meta::Meta;
use machinist_domain::patch::finalizers;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_domain::safety::EffectKind;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{Guard, Part, Writer};
use serde_json::{Value, json};

use super::RecyclerController;
use super::plan::{Finalizer, Outcome, Plan};
use super::recycling::group_of;
use super::report;
use super::snapshot::{Facts, Snapshot};
use crate::kinds::EventRecyclers;

pub(super) async fn act(
    controller: &RecyclerController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let Ok(facts) = &snapshot.facts else { return Outcome::default() };
    let patch = match plan.finalizer {
        Some(change) => {
            let present = change == Finalizer::Add;
            Some((Part::Object, finalizers(&facts.finalizers, FINALIZER_RECYCLER, present)))
        }
        None => stored(controller, facts, plan),
    };
    if let Some((part, patch)) = patch {
        // A drain that ends here is not observed again.
        for (one, step) in facts.recycles.iter().zip(&plan.steps) {
            controller.recycling.remember(one, step);
        }
        let (cache, meta) = (&controller.recyclers, &snapshot.meta);
        // Nothing is written in a dry run, and where the object is gone.
        // Instances are deleted because of what is stored when a recycle begins.
        let begins = part == Part::Status && plan.begin.is_some();
        let deleting = begins.then(|| writer.leading_to(EffectKind::CloudDelete));
        let writer = deleting.as_ref().unwrap_or(writer);
        let written = match writer.patch(cache, meta, part, Guard::Version, patch, plan).await {
            Ok(written) => Ok(written.is_some()),
            Err(error) if error.not_found() => Ok(false),
            Err(error) => Err(error.failure()),
        };
        return Outcome { written: Some(written), ..Outcome::default() };
    }
    let mut steps = Vec::new();
    for (one, step) in facts.recycles.iter().zip(&plan.steps) {
        let still_wanted = still_wanted(&controller.recyclers, &snapshot.meta, &one.recycle);
        let key = &snapshot.meta.key;
        steps.push(controller.recycling.act(one, step, key, still_wanted, writer).await);
    }
    controller.recycling.group_cache.fill(&plan.describe, facts.group_age()).await;
    Outcome { steps, written: None }
}

fn stored(controller: &RecyclerController, facts: &Facts, plan: &Plan) -> Option<(Part, Value)> {
    if !plan.stores() {
        return None;
    }
    if let Some(recycle) = &plan.begin {
        // The first step decides on a description that is not older than its recycle.
        controller.recycling.group_cache.forget(&group_of(recycle));
    }
    let status = report::status(facts, plan, controller.recycling.clock.now())?;
    Some((Part::Status, json!({ "status": status })))
}

/// Whether the EventRecycler still has exactly this recycle, by a live read.
async fn still_wanted(
    recyclers: &Cache<EventRecyclers>,
    meta: &Meta,
    recycle: &Recycle,
) -> Result<bool, Failure> {
    let read = recyclers.read_live(&meta.key).await.map_err(|error| error.failure())?;
    let Some(Entry::Known(recycler)) = read else { return Ok(false) };
    let dry_run = recycler.spec.as_ref().and_then(|spec| spec.dry_run).unwrap_or_default();
    // A deletion cancels the recycle, which has to be decided first. Cleaning up ignores `dryRun`.
    let deleting = recycler.meta.deleting;
    let wanted = deleting == meta.deleting && (deleting || !dry_run);
    let is_stored = recycler.status.recycles.iter().flatten().any(|one| one == recycle);
    Ok(recycler.meta.uid == meta.uid && wanted && is_stored)
}

#[cfg(test)]
mod tests;
