//! Carries a plan out: at most one write.

use machinist_domain::retry::{Category, Classified};
use machinist_runtime::cache::Cache;
use machinist_runtime::writer::Writer;

use super::plan::{Outcome, Plan};
use super::snapshot::Snapshot;
use crate::kinds::MachineSets;

pub(super) async fn act(
    sets: &Cache<MachineSets>,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let change = match plan {
        Plan::Settled | Plan::Deleting => return Outcome::Settled,
        Plan::Refuse(refusal) => return Outcome::Refused(refusal.clone()),
        Plan::Annotate(change) => change,
    };
    match writer.annotate(sets, &snapshot.meta, change, plan).await {
        Ok(_) => Outcome::Annotated,
        // It was deleted since we looked: nothing is left to annotate.
        Err(error) if error.category() == Category::NotFound => Outcome::Settled,
        Err(error) => Outcome::Failed(error.failure()),
    }
}
