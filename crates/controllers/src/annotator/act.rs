//! Executes a plan: at most one write.

use machinist_domain::retry::{Category, Classified};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::writer::{Writer, Written};

use super::plan::{Outcome, Plan};
use super::snapshot::Snapshot;

pub(super) async fn act<K: Kind>(
    objects: &Cache<K>,
    snapshot: &Snapshot<K::Stored>,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let Plan::Annotate(annotation) = plan else { return Outcome::Unchanged };
    match writer.annotate(objects, &snapshot.meta, &annotation.assessment.change, plan).await {
        Ok(Written::Nothing) => Outcome::Unchanged,
        Ok(_) => Outcome::Written,
        Err(error) if error.category() == Category::NotFound => Outcome::Gone,
        Err(error) => Outcome::Failed(error.failure()),
    }
}
