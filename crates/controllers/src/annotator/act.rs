//! Carries a plan out: at most one write.

use machinist_domain::retry::{Category, Classified};
use machinist_runtime::cache::Cache;
use machinist_runtime::writer::{Writer, Written};

use super::plan::{Outcome, Plan};
use super::snapshot::Snapshot;
use crate::kinds::MachineSets;

pub(super) async fn act(
    sets: &Cache<MachineSets>,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let truth = match plan {
        Plan::Deleting | Plan::Elsewhere => return Outcome::Left,
        Plan::Wait => return Outcome::Waiting,
        Plan::Refuse(refusal) => return Outcome::Refused(refusal.clone()),
        Plan::Tell(truth) => truth.clone(),
    };
    match writer.annotate(sets, &snapshot.meta, &truth.assessment.change, plan).await {
        Ok(written) => Outcome::Told { truth, wrote: written != Written::Nothing },
        // It was deleted since we looked: nothing is left to annotate.
        Err(error) if error.category() == Category::NotFound => Outcome::Left,
        Err(error) => Outcome::Failed(error.failure()),
    }
}
