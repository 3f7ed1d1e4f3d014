//! Remediates the Machines of the plan. Each is confirmed before: its Node is read live, because the cache may not show
//! yet that it has recovered or was created, and the deletion is bound to the version of the Machine.

use futures::StreamExt as _;
use machinist_api::names::{ANNOTATION_EXTERNAL_REMEDIATION, ANNOTATION_REMEDIATIONS};
use machinist_api::resource::MACHINES;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Classified as _;
use machinist_domain::safety::{EffectKind, Initiator, ObjectRef};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{WriteError, Writer, Written};

use super::HealthCheckController;
use super::health;
use super::observe::{node_key, node_view, unlinked};
use super::plan::{Ended, Fate, Finding, Outcome, Plan, Step};
use super::request;
use super::snapshot::{Member, Snapshot, View};
use crate::kinds::{MachineHealthCheck, RemediationRequests};

/// Remediations in flight: most cause a drain and an instance's termination.
const REMEDIATIONS: usize = 16;

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
    if let Some(record) = &assessment.record {
        return record_in(controller, &view.check, record, plan, writer).await;
    }
    let remediate = |finding| remediate(controller, view, finding, plan, writer);
    // Collected first: a closure in a stream must not borrow the iterator.
    let all: Vec<_> = assessment.remediations().map(remediate).collect();
    let end = |ended| end(controller, view, ended, plan, writer);
    let ends: Vec<_> = assessment.ended.iter().map(end).collect();
    if all.is_empty() && ends.is_empty() {
        return Outcome::Nothing;
    }
    let mut fates: Vec<_> =
        futures::stream::iter(all).buffer_unordered(REMEDIATIONS).collect().await;
    fates.extend(
        futures::stream::iter(ends).buffer_unordered(REMEDIATIONS).collect::<Vec<_>>().await,
    );
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

/// Stores what the successors of the Machines inherit, before any of them is deleted.
async fn record_in(
    controller: &HealthCheckController,
    check: &MachineHealthCheck,
    record: &str,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let mut change = AnnotationChange::default();
    change.want(ANNOTATION_REMEDIATIONS, check.remediations.as_deref(), record);
    // It leads to deletions: one that is frozen is not recorded either.
    let writer = writer.leading_to(EffectKind::Delete);
    match writer.annotate(&controller.checks, &check.meta, &change, plan).await {
        Ok(Written::LeftOut) => Outcome::DryRun,
        Ok(_) => Outcome::Recorded(Ok(())),
        Err(error) => Outcome::Recorded(Err(error.failure())),
    }
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
    let writer = writer.initiated_by(initiator(view, meta));
    let fate = match confirmed(controller, view, meta).await {
        Ok(false) => Fate::Outdated,
        Err(failed) => failed,
        Ok(true) => {
            let fate = match finding.step {
                Step::Request => request(controller, view, meta, plan, &writer).await,
                Step::Annotate => annotate(controller, meta, plan, &writer).await,
                _ => delete(controller, meta, plan, &writer).await,
            };
            match fate {
                Ok(fate) => fate?,
                Err(error) if error.conflict() || error.already_exists() => Fate::Outdated,
                Err(error) => Fate::Failed(error.failure()),
            }
        }
    };
    Some((meta.clone(), fate))
}

async fn delete(
    controller: &HealthCheckController,
    machine: &Meta,
    plan: &Plan,
    writer: &Writer,
) -> Result<Option<Fate>, WriteError> {
    match writer.delete_version(&controller.machines, machine, plan).await {
        Ok(deleted) => Ok(deleted.map(|()| Fate::Deleted)),
        Err(error) if was_executed(&controller.machines, machine, &error).await => {
            Ok(Some(Fate::Deleted))
        }
        Err(error) => Err(error),
    }
}

/// Whether a deletion that was not answered was executed. No later reconcile would report it.
async fn was_executed<K: Kind>(cache: &Cache<K>, meta: &Meta, error: &WriteError) -> bool {
    error.leaves_uncertain()
        && match cache.get_certain(&meta.key).await {
            Ok(found) => {
                found.is_none_or(|entry| entry.meta().deleting || entry.meta().uid != meta.uid)
            }
            Err(_) => false,
        }
}

/// Creates a remediation object. Whatever remediates may delete the Machine, so a freeze of deletions stops it.
async fn request(
    controller: &HealthCheckController,
    view: &View,
    machine: &Meta,
    plan: &Plan,
    writer: &Writer,
) -> Result<Option<Fate>, WriteError> {
    let template = view.external.as_ref().and_then(|external| external.template.as_ref().ok());
    let sources = controller.external.of(&view.check.meta.key);
    let (Some(template), Some(sources)) = (template, sources) else {
        return Ok(Some(Fate::Outdated));
    };
    let body = request::body(template, &view.check.meta, machine);
    let writer = writer.leading_to(EffectKind::Delete);
    let requests = sources.requests();
    let created = match writer.create(requests, &machine.key, &body, plan).await {
        Ok(created) => created.is_some(),
        Err(error) if error.leaves_uncertain() && is_created(requests, machine).await => true,
        Err(error) => return Err(error),
    };
    if created {
        controller.external.created(&machine.uid);
    }
    Ok(created.then_some(Fate::Requested))
}

/// Whether the Machine has its remediation object, although its creation was not answered.
async fn is_created(requests: &Cache<RemediationRequests>, machine: &Meta) -> bool {
    match requests.get_certain(&machine.key).await {
        Ok(Some(Entry::Known(request))) => request.owners.contains(&machine.uid),
        _ => false,
    }
}

async fn annotate(
    controller: &HealthCheckController,
    machine: &Meta,
    plan: &Plan,
    writer: &Writer,
) -> Result<Option<Fate>, WriteError> {
    let mut change = AnnotationChange::default();
    change.want(ANNOTATION_EXTERNAL_REMEDIATION, None, "");
    let writer = writer.leading_to(EffectKind::Delete);
    let written = writer.annotate(&controller.machines, machine, &change, plan).await?;
    Ok((written != Written::LeftOut).then_some(Fate::Annotated))
}

/// Deletes a remediation object. `None` in a dry run.
async fn end(
    controller: &HealthCheckController,
    view: &View,
    ended: &Ended,
    plan: &Plan,
    writer: &Writer,
) -> Option<(Meta, Fate)> {
    let machine = ended.machine.clone();
    let Some(sources) = controller.external.of(&view.check.meta.key) else {
        return Some((machine, Fate::Outdated));
    };
    let writer = writer.also_for(ObjectRef { kind: MACHINES.kind, key: machine.key.clone() });
    // It ends a remediation, so it is no deletion for freezes.
    let writer = writer.leading_to(EffectKind::Change);
    let fate = match writer.delete(sources.requests(), &ended.request, plan).await {
        Ok(deleted) => deleted.map(|()| Fate::Ended)?,
        Err(error) if was_executed(sources.requests(), &ended.request, &error).await => Fate::Ended,
        Err(error) => Fate::Failed(error.failure()),
    };
    Some((machine, fate))
}

fn initiator(view: &View, machine: &Meta) -> Initiator {
    let member = view.members.iter().find(|member| member.meta.uid == machine.uid);
    member.map_or(Initiator::Controller, Member::initiator)
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
