//! Executes a plan: at most one write.

use machinist_domain::retry::{Category, Classified};
use machinist_runtime::cache::Cache;
use machinist_runtime::writer::{Writer, Written};

use super::plan::{Outcome, Plan};
use super::snapshot::Snapshot;
use crate::kinds::{MachineSets, State};

pub(super) async fn act<S: State>(
    sets: &Cache<MachineSets<S>>,
    snapshot: &Snapshot<S>,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let Plan::Annotate(annotation) = plan else { return Outcome::Unchanged };
    match writer.annotate(sets, &snapshot.meta, &annotation.assessment.change, plan).await {
        Ok(Written::Nothing) => Outcome::Unchanged,
        Ok(_) => Outcome::Written,
        Err(error) if error.category() == Category::NotFound => Outcome::Gone,
        Err(error) => Outcome::Failed(error.failure()),
    }
}
