//! Carries out a plan: a patch of the Machine's status and a patch of its Node.

use machinist_domain::retry::{Category, Classified};
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use serde_json::json;

use super::NodeLink;
use super::plan::{Outcome, Plan};
use super::snapshot::{Owner, Snapshot};

pub(super) async fn act(
    controller: &NodeLink,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let (Plan::Link(link), Owner::Machine(machine)) = (plan, &snapshot.owner) else {
        return Outcome::Done;
    };
    let mut failures = Vec::new();
    if let Some(status) = &link.machine {
        let patch = json!({ "status": status });
        let cache = &controller.machines;
        // Fields of this controller alone: the uid is enough.
        let done = writer.patch(cache, &machine.meta, Part::Status, Guard::Uid, patch, plan).await;
        failures.extend(done.err());
    }
    if let Some(patch) = &link.node {
        let (cache, meta) = (&controller.nodes, &snapshot.node.meta);
        let patch = patch.clone();
        let target = writer.target();
        let done = target.patch(cache, meta, Part::Object, Guard::Version, patch, plan).await;
        failures.extend(done.err());
    }
    outcome(&failures)
}

/// An object that was deleted meanwhile needs no link.
fn outcome(failures: &[WriteError]) -> Outcome {
    let gone = |error: &&WriteError| error.category() == Category::NotFound;
    match failures.iter().find(|error| !gone(error)) {
        Some(error) => Outcome::Failed(error.failure()),
        None if failures.is_empty() => Outcome::Linked,
        None => Outcome::Done,
    }
}
