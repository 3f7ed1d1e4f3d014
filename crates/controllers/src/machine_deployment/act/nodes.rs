//! Writes the marks of a rollout on Nodes of the target cluster. After a failure that deployment's Nodes are left alone
//! for a while, so that its rollout goes on.

use futures::stream::{self, StreamExt as _};
use machinist_domain::meta::Meta;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};

use super::super::MachineDeploymentController;
use super::super::messages;
use super::super::plan::{NodePatch, Outcome, Plan};

/// Writes to Nodes in flight. After a failure among them no more are sent.
const NODES: usize = 16;

pub(super) async fn mark(
    controller: &MachineDeploymentController,
    deployment: &Meta,
    nodes: &[NodePatch],
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let mut all = Outcome::Executed;
    for some in nodes.chunks(NODES) {
        let mut patches = Vec::new();
        for one in some {
            patches.push(write(controller, one, plan, writer));
        }
        let outcomes: Vec<_> = stream::iter(patches).buffered(NODES).collect().await;
        for outcome in outcomes {
            match (&all, outcome) {
                (_, Outcome::Failed(failure)) => all = Outcome::Failed(failure),
                (Outcome::Executed, other) => all = other,
                _ => {}
            }
        }
        if let Outcome::Failed(failure) = &all {
            remember(controller, deployment, failure);
            break;
        }
    }
    all
}

/// For a deployment that is deleted nothing else is to be done, and another leader tries again by itself.
fn remember(controller: &MachineDeploymentController, deployment: &Meta, failure: &Failure) {
    if !deployment.deleting && failure.category != Category::NotLeader {
        let cause = failure.category.needs_attention().then(|| failure.message.clone());
        controller.node_troubles.add(&deployment.uid, cause, controller.clock.uptime());
    }
}

async fn write(
    controller: &MachineDeploymentController,
    NodePatch { node, patch }: &NodePatch,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let (cache, part, guard) = (&controller.nodes, Part::Object, Guard::Version);
    let sent = writer.target().patch(cache, &node.meta, part, guard, patch.clone(), plan).await;
    match sent {
        // It would be sent again and again, and the rollout would not go on.
        Ok(Some(written)) if written.version == node.meta.version => Outcome::Failed(Failure {
            category: Category::Unexpected,
            retry: Retry::Backoff,
            message: messages::node_failed(&node.meta.key.name, messages::NODE_UNCHANGED),
        }),
        Ok(Some(_)) => Outcome::Executed,
        Ok(None) => Outcome::DryRun,
        Err(error) if error.not_found() || error.conflict() => Outcome::Outdated,
        Err(error) => Outcome::Failed(failure(&node.meta.key.name, &error)),
    }
}

fn failure(node: &str, error: &WriteError) -> Failure {
    let failure = error.failure();
    Failure { message: messages::node_failed(node, &failure.message), ..failure }
}
