//! Carries out a plan: at most one effect, through the writer. Instances that a call returns go to the cache at once.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_PRESERVED_UNTIL, FINALIZER_MACHINE, LABEL_IN_PLACE_RESULT};
use machinist_domain::meta::Meta;
use machinist_domain::patch;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_domain::safety::Initiator;
use machinist_provider::Pending;
use machinist_provider::cloud::{Cloud, CloudError, Effect, ErrorClass, Instance, MachineRef};
use machinist_runtime::writer::{CloudCall, CloudWriteError, Guard, Part, WriteError, Writer};
use serde_json::{Value, json};

use super::error::or_look_first;
use super::in_place::Step;
use super::observe::group;
use super::plan::{Outcome, Plan};
use super::snapshot::{Call, Snapshot, View};
use super::{MachineController, messages, report};
use crate::clouds::Chosen;

pub(super) async fn act(
    controller: &MachineController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let Ok(view) = &snapshot.view else { return Outcome::Done };
    let executor = Executor { controller, snapshot, view, plan, writer };
    match plan {
        Plan::NoOp(_)
        | Plan::AwaitCloud
        | Plan::Wait(_)
        | Plan::Refuse(_)
        | Plan::Fail(_)
        | Plan::AwaitHooks
        | Plan::NothingToRemove => Outcome::Done,
        Plan::UpdateStatus(instance) => {
            executor.observed(instance);
            Outcome::Done
        }
        Plan::Pause(_) => {
            if let Some(Ok(machine)) = &view.reach {
                let group = group(view, machine, view.next_call());
                controller.failure_domains.wait(group, &machine.key);
            }
            Outcome::Done
        }
        Plan::SetAuthority(authority) => {
            executor.patch_status(json!({"authoritativeAPI": authority.as_str()})).await
        }
        Plan::AddFinalizer | Plan::Release => {
            let (list, add) = (&view.machine.finalizers, *plan == Plan::AddFinalizer);
            let patch = patch::finalizers(list, FINALIZER_MACHINE, add);
            executor.patch(patch, Guard::Version).await
        }
        Plan::Record(patch) => executor.patch(patch.clone(), Guard::Uid).await,
        Plan::Prepare { attempt } => executor.prepare(*attempt).await,
        Plan::Create { attempt } => executor.create(*attempt).await,
        Plan::Repair(_) => executor.repair().await,
        Plan::Terminate => executor.terminate().await,
        Plan::RemoveNode(node) => {
            written(writer.target().delete(&controller.nodes, node, plan).await)
        }
        Plan::InPlace(Step::Take(result)) => {
            let labels = json!({LABEL_IN_PLACE_RESULT: result.as_str()});
            executor.patch(json!({"metadata": {"labels": labels}}), Guard::Version).await
        }
        Plan::InPlace(Step::Drain(plan)) | Plan::Drain(plan) => match &view.drain {
            Some(drain) => Outcome::Drained(controller.drainer.act(drain, plan, writer).await),
            None => Outcome::Done,
        },
        Plan::Preserve(until) => executor.preserve(Some(*until)).await,
        Plan::EndPreservation => executor.preserve(None).await,
        Plan::MarkNode { node, patch } => executor.mark_node(node, patch.clone()).await,
        Plan::DrainPreserved { drain: plan, rest } => {
            if let Plan::UpdateStatus(instance) = &**rest {
                executor.observed(instance);
            }
            // It has failed by itself, and may be back.
            let writer = writer.initiated_by(Initiator::Controller);
            match &view.drain {
                Some(drain) => Outcome::Drained(controller.drainer.act(drain, plan, &writer).await),
                None => Outcome::Done,
            }
        }
        Plan::InPlace(step) => match (step.node_patch(), &view.node) {
            (Some(patch), Some(node)) => {
                let (nodes, part, guard) = (&controller.nodes, Part::Object, Guard::Version);
                written(writer.target().patch(nodes, &node.meta, part, guard, patch, plan).await)
            }
            _ => Outcome::Done,
        },
    }
}

struct Executor<'a> {
    controller: &'a MachineController,
    snapshot: &'a Snapshot,
    view: &'a View,
    plan: &'a Plan,
    writer: &'a Writer,
}

impl Executor<'_> {
    async fn patch(&self, patch: Value, guard: Guard) -> Outcome {
        let (machines, meta) = (&self.controller.machines, &self.view.machine.meta);
        written(self.writer.patch(machines, meta, Part::Object, guard, patch, self.plan).await)
    }

    async fn patch_status(&self, status: Value) -> Outcome {
        let (snapshot, plan) = (self.snapshot, self.plan);
        written(self.controller.patch_status(snapshot, &status, plan, self.writer).await)
    }

    /// The resourceVersion keeps a stale reconcile from storing another end.
    async fn preserve(&self, until: Option<Timestamp>) -> Outcome {
        let until = until.map(|until| until.to_string());
        let annotations = json!({ANNOTATION_PRESERVED_UNTIL: until});
        self.patch(json!({"metadata": {"annotations": annotations}}), Guard::Version).await
    }

    /// A Node whose marks are refused is left alone for a while, so that its Machine goes on.
    async fn mark_node(&self, node: &Meta, patch: Value) -> Outcome {
        let (nodes, part, guard) = (&self.controller.nodes, Part::Object, Guard::Version);
        let answer = self.writer.target().patch(nodes, node, part, guard, patch, self.plan).await;
        let outcome = match answer {
            Ok(Some(new)) if new.version == node.version => Outcome::Failed(Failure {
                category: Category::InvalidConfiguration,
                retry: Retry::Backoff,
                message: messages::NODE_UNCHANGED.to_owned(),
            }),
            answer => written(answer),
        };
        match &outcome {
            Outcome::Failed(failure) => self.controller.unmarked.failed(&node.uid, failure),
            _ => self.controller.unmarked.written(&node.uid),
        }
        outcome
    }

    /// An instance without drift needs no pause between repairs.
    fn observed(&self, instance: &Instance) {
        if instance.drift.is_none() && self.view.unrepaired.is_some() {
            self.controller.repairs.forget(&self.view.machine.meta.uid);
        }
    }

    /// Stores the launch with the rest of the status in one write: the next reconcile creates from what is stored.
    async fn prepare(&self, attempt: u32) -> Outcome {
        let Some((machine, chosen)) = self.reach() else { return Outcome::Done };
        let machine = MachineRef { attempt, ..machine.clone() };
        let timeout = self.controller.shared.timings.cloud_call;
        let prepared = tokio::time::timeout(timeout, chosen.cloud.prepare(&machine)).await;
        let prepared = match prepared {
            Ok(Ok(stored)) => Outcome::Prepared(stored),
            Ok(Err(error)) => {
                let group = group(self.view, &machine, Call::Create);
                self.controller.failure_domains.failed(group, &error);
                return not_prepared(error);
            }
            Err(_) => {
                let text = messages::no_answer_in_time(timeout);
                return not_prepared(CloudError::new(ErrorClass::Unavailable, text));
            }
        };
        let now = self.controller.shared.clock.now();
        let status = report::status(self.view, self.plan, &prepared, now);
        let Some(status) = status else { return prepared };
        match self.patch_status(status).await {
            Outcome::Done => prepared,
            outcome => outcome,
        }
    }

    async fn create(&self, attempt: u32) -> Outcome {
        let (controller, meta) = (self.controller, &self.view.machine.meta);
        match self.call(Call::Create, |cloud, machine| cloud.create(machine)).await {
            Ok(Ok(instance)) => {
                let instance = Arc::new(instance);
                controller.instances.insert(&meta.key, &meta.uid, &instance);
                Outcome::Created(instance)
            }
            Ok(Err(error)) => {
                // The instance was observed before this call.
                controller.instances.forget(&meta.uid);
                let error = or_look_first(error, self.view);
                if error.effect == Effect::NoneForThisAttempt {
                    controller.refused.lock().insert(meta.uid.clone(), attempt);
                }
                Outcome::CallFailed(Call::Create, self.recorded(error))
            }
            Err(outcome) => *outcome,
        }
    }

    /// The failure of a create call, with what the provider stores about it.
    fn recorded(&self, error: CloudError) -> CloudError {
        let now = self.controller.shared.clock.now();
        let status = self.reach().and_then(|(machine, chosen)| {
            chosen.cloud.failed_status(&machine.status, &error.message, now)
        });
        CloudError { status: status.map(Box::new), ..error }
    }

    async fn repair(&self) -> Outcome {
        let (controller, meta) = (self.controller, &self.view.machine.meta);
        let error = match self.call(Call::Update, |cloud, machine| cloud.update(machine)).await {
            Ok(Ok(instance)) => {
                let instance = Arc::new(instance);
                controller.instances.insert(&meta.key, &meta.uid, &instance);
                let Some(drift) = &instance.drift else {
                    controller.repairs.forget(&meta.uid);
                    return Outcome::Repaired(instance);
                };
                CloudError::new(ErrorClass::Unexpected, messages::drift_remains(drift))
            }
            Ok(Err(error)) => error,
            Err(outcome) => return *outcome,
        };
        controller.repairs.failed(&meta.uid, &error.message);
        Outcome::CallFailed(Call::Update, error)
    }

    async fn terminate(&self) -> Outcome {
        let answer = match self.call(Call::Delete, |cloud, machine| cloud.delete(machine)).await {
            Ok(answer) => answer,
            Err(outcome) => return *outcome,
        };
        self.controller.instances.forget(&self.view.machine.meta.uid);
        match answer {
            Ok(deletion) => Outcome::Terminating(deletion),
            Err(error) => Outcome::CallFailed(Call::Delete, error),
        }
    }

    fn reach(&self) -> Option<(&MachineRef, Chosen)> {
        let machine = self.view.reach.as_ref()?.as_ref().ok()?;
        Some((machine, self.controller.clouds.choose(&machine.spec).ok()?))
    }

    /// Makes a cloud call, unless its failure domain pauses, and reports the result to the failure domains. An outer
    /// error means that the call was not made.
    async fn call<T>(
        &self,
        call: Call,
        work: impl for<'a> FnOnce(&'a dyn Cloud, &'a MachineRef) -> Pending<'a, Result<T, CloudError>>,
    ) -> Result<Result<T, CloudError>, Box<Outcome>> {
        let Some((machine, chosen)) = self.reach() else { return Err(Box::new(Outcome::Done)) };
        let (domains, key) = (&self.controller.failure_domains, &machine.key);
        let group = group(self.view, machine, call);
        if let Some(pause) = domains.enter(group, key) {
            return Err(Box::new(Outcome::Paused(pause)));
        }
        let called = CloudCall {
            provider: chosen.provider,
            verb: call.as_str(),
            effect: call.effect(),
            key,
        };
        let work = work(&*chosen.cloud, machine);
        let error = match self.writer.change_cloud(called, self.plan, work).await {
            Ok(Some(answer)) => {
                domains.succeeded(group);
                return Ok(Ok(answer));
            }
            Ok(None) => return Err(Box::new(Outcome::DryRun)),
            Err(CloudWriteError::Cloud(error)) => error,
            Err(error @ CloudWriteError::TimedOut(_)) => {
                CloudError::new(ErrorClass::Unavailable, error.to_string())
            }
            Err(error @ (CloudWriteError::NotLeader(_) | CloudWriteError::Frozen(_))) => {
                return Err(Box::new(Outcome::Failed(error.failure())));
            }
        };
        domains.failed(group, &error);
        Ok(Err(error))
    }
}

/// Preparing changes nothing in the cloud.
fn not_prepared(error: CloudError) -> Outcome {
    Outcome::CallFailed(Call::Create, CloudError { effect: Effect::None, ..error })
}

/// The outcome of a write. An object that is gone needs none.
fn written<T>(answer: Result<Option<T>, WriteError>) -> Outcome {
    match answer {
        Ok(Some(_)) => Outcome::Done,
        Ok(None) => Outcome::DryRun,
        Err(error) if error.not_found() => Outcome::Done,
        Err(error) => {
            let failure = error.failure();
            // The object has changed: observe it again.
            let retry =
                if failure.category == Category::Conflict { Retry::Soon } else { failure.retry };
            Outcome::Failed(Failure { retry, ..failure })
        }
    }
}
