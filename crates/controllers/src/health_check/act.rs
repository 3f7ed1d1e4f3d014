//! Deletes the Machines of the plan. Each is confirmed before: its Node is read live, because the cache may not show
//! yet that it has recovered or was created, and the deletion is bound to the version of the Machine.

use futures::StreamExt as _;
use machinist_api::resource::MACHINES;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Classified as _;
use machinist_domain::safety::ObjectRef;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{WriteError, Writer};

use super::HealthCheckController;
use super::health;
use super::observe::{node_key, node_view, unlinked};
use super::plan::{Fate, Finding, Outcome, Plan};
use super::snapshot::{Member, Snapshot, View};

/// Deletions in flight: each causes a drain and an instance's termination.
const DELETIONS: usize = 16;

pub(super) async fn act(
    controller: &HealthCheckController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let key = &snapshot.meta.key;
    let (Plan::Assess(assessment), Ok(view)) = (plan, &snapshot.content) else {
        controller.waiting.lock().remove(key);
        return Outcome::Nothing;
    };
    if !assessment.held().any(|(_, hold)| hold.waits_for_others()) {
        controller.waiting.lock().remove(key);
    }
    controller.metrics.assessed(key, assessment.expected, assessment.is_allowed());
    let remediate = |finding| remediate(controller, view, finding, plan, writer);
    // Collected first: a closure in a stream must not borrow the iterator.
    let all: Vec<_> = assessment.remediations().map(remediate).collect();
    if all.is_empty() {
        return Outcome::Nothing;
    }
    let fates: Vec<_> = futures::stream::iter(all).buffer_unordered(DELETIONS).collect().await;
    let executed: Vec<_> = fates.into_iter().flatten().collect();
    if executed.is_empty() {
        return Outcome::DryRun;
    }
    for (_, fate) in &executed {
        if matches!(fate, Fate::Deleted) {
            controller.metrics.remediated(key);
        }
    }
    Outcome::Executed(executed)
}

/// `None` in a dry run.
async fn remediate(
    controller: &HealthCheckController,
    view: &View,
    finding: &Finding,
    plan: &Plan,
    writer: &Writer,
) -> Option<(Meta, Fate)> {
    let meta = &finding.meta;
    let writer = writer.also_for(ObjectRef { kind: MACHINES.kind, key: meta.key.clone() });
    let fate = match confirmed(controller, view, meta).await {
        Ok(false) => Fate::Outdated,
        Err(failed) => failed,
        Ok(true) => match writer.delete_version(&controller.machines, meta, plan).await {
            Ok(None) => return None,
            Ok(Some(())) => Fate::Deleted,
            Err(error) if error.conflict() => Fate::Outdated,
            Err(error) if was_executed(controller, meta, &error).await => Fate::Deleted,
            Err(error) => Fate::Failed(error.failure()),
        },
    };
    Some((meta.clone(), fate))
}

/// Whether a deletion that was not answered was executed. No later reconcile would report it.
async fn was_executed(controller: &HealthCheckController, meta: &Meta, error: &WriteError) -> bool {
    error.leaves_uncertain()
        && match controller.machines.get_certain(&meta.key).await {
            Ok(found) => {
                found.is_none_or(|entry| entry.meta().deleting || entry.meta().uid != meta.uid)
            }
            Err(_) => false,
        }
}

/// Whether the Machine is still unhealthy.
async fn confirmed(
    controller: &HealthCheckController,
    view: &View,
    meta: &Meta,
) -> Result<bool, Fate> {
    let Some(Entry::Known(machine)) = controller.machines.get(&meta.key) else { return Ok(false) };
    if machine.meta.uid != meta.uid || machine.meta.version != meta.version {
        return Ok(false);
    }
    let Some(member) = view.members.iter().find(|member| member.meta.uid == meta.uid) else {
        return Ok(false);
    };
    let node = match node_key(&machine) {
        None => unlinked(controller, &machine),
        Some(key) => match controller.nodes.read_live(&key).await {
            Ok(entry) => node_view(entry),
            Err(error) => return Err(Fate::Failed(error.failure())),
        },
    };
    let member = Member { machine: Some(machine), node, ..member.clone() };
    Ok(health::of(&view.check, &member, controller.clock.now()).is_unhealthy())
}
