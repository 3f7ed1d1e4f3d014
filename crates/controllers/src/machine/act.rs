//! Carries out a plan: at most one effect, through the writer. Instances that a call returns go to the cache at once.

use std::sync::Arc;

use machinist_api::names::FINALIZER_MACHINE;
use machinist_domain::meta::Meta;
use machinist_domain::patch;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use machinist_runtime::writer::{CloudCall, CloudWriteError, Guard, Part, WriteError, Writer};
use serde_json::{Value, json};

use super::error::or_look_first;
use super::observe::group;
use super::plan::{Outcome, Plan};
use super::snapshot::{Call, Content, Gate, Snapshot, View};
use super::{MachineController, messages, report};
use crate::clouds::Chosen;

pub(super) async fn act(
    controller: &MachineController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let view = match &snapshot.content {
        Content::Read(view) => view,
        Content::Undecodable(_) => return Outcome::Done,
    };
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
            if instance.drift.is_none() && view.unrepaired.is_some() {
                controller.repairs.forget(&view.machine.meta.uid);
            }
            Outcome::Done
        }
        Plan::Pause { .. } => {
            executor.wait_for_domain();
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
        Plan::Create { .. } => executor.create().await,
        Plan::Repair(_) => executor.repair().await,
        Plan::Terminate => executor.terminate().await,
        Plan::RemoveNode(node) => executor.remove_node(node).await,
        Plan::Drain(plan) => match &view.drain {
            Some(drain) => Outcome::Drained(controller.drainer.act(drain, plan, writer).await),
            None => Outcome::Done,
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

    async fn remove_node(&self, node: &Meta) -> Outcome {
        written(self.writer.target().delete(&self.controller.nodes, node, self.plan).await)
    }

    fn wait_for_domain(&self) {
        if let Some(Ok(machine)) = &self.view.reach {
            let group = group(self.view, machine, self.view.next_call());
            self.controller.failure_domains.wait(group, &machine.key);
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
                return Outcome::NotCreated(CloudError { effect: Effect::None, ..error });
            }
            Err(_) => {
                let text = messages::no_answer_in_time(timeout);
                let error = CloudError::new(ErrorClass::Unavailable, text);
                return Outcome::NotCreated(CloudError { effect: Effect::None, ..error });
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

    async fn create(&self) -> Outcome {
        let (machine, chosen) = match self.enter(Call::Create) {
            Ok(reach) => reach,
            Err(outcome) => return *outcome,
        };
        let answer = self.change(&chosen, Call::Create, chosen.cloud.create(machine)).await;
        match answer {
            Ok(Some(instance)) => {
                let instance = Arc::new(instance);
                self.controller.instances.insert(machine, &instance);
                Outcome::Created(instance)
            }
            Ok(None) => Outcome::DryRun,
            Err(Refused::Cloud(error)) => {
                // The instance was observed before this call.
                self.controller.instances.forget(&machine.uid);
                let error = or_look_first(error, self.view);
                if error.effect == Effect::NoneForThisAttempt {
                    let mut refused = self.controller.refused.lock();
                    refused.insert(machine.uid.clone(), machine.attempt);
                }
                Outcome::NotCreated(error)
            }
            Err(Refused::NotCalled(failure)) => Outcome::Failed(failure),
        }
    }

    async fn repair(&self) -> Outcome {
        let (machine, chosen) = match self.enter(Call::Update) {
            Ok(reach) => reach,
            Err(outcome) => return *outcome,
        };
        let repairs = &self.controller.repairs;
        let error = match self.change(&chosen, Call::Update, chosen.cloud.update(machine)).await {
            Ok(Some(instance)) => {
                let instance = Arc::new(instance);
                self.controller.instances.insert(machine, &instance);
                let Some(drift) = &instance.drift else {
                    repairs.forget(&machine.uid);
                    return Outcome::Repaired(instance);
                };
                CloudError::new(ErrorClass::Unknown, messages::drift_remains(drift))
            }
            Ok(None) => return Outcome::DryRun,
            Err(Refused::Cloud(error)) => error,
            Err(Refused::NotCalled(failure)) => return Outcome::Failed(failure),
        };
        repairs.failed(&machine.uid, &error.message);
        Outcome::NotRepaired(error)
    }

    async fn terminate(&self) -> Outcome {
        let (machine, chosen) = match self.enter(Call::Delete) {
            Ok(reach) => reach,
            Err(outcome) => return *outcome,
        };
        let answer = self.change(&chosen, Call::Delete, chosen.cloud.delete(machine)).await;
        self.controller.instances.forget(&machine.uid);
        match answer {
            Ok(Some(deletion)) => Outcome::Terminating(deletion),
            Ok(None) => Outcome::DryRun,
            Err(Refused::Cloud(error)) => Outcome::NotTerminated(error),
            Err(Refused::NotCalled(failure)) => Outcome::Failed(failure),
        }
    }

    /// The provider to call, unless the failure domain is closed.
    fn enter(&self, call: Call) -> Result<(&MachineRef, Chosen), Box<Outcome>> {
        let (machine, chosen) = self.reach().ok_or_else(|| Box::new(Outcome::Done))?;
        let group = group(self.view, machine, call);
        match self.controller.failure_domains.enter(group, &machine.key) {
            Gate::Open => Ok((machine, chosen)),
            Gate::Closed { wait, why } => Err(Box::new(Outcome::Paused { wait, why })),
        }
    }

    fn reach(&self) -> Option<(&MachineRef, Chosen)> {
        let machine = self.view.reach.as_ref()?.as_ref().ok()?;
        Some((machine, self.controller.clouds.choose(&machine.spec).ok()?))
    }

    /// Makes a cloud call and reports its result to the failure domains.
    async fn change<T>(
        &self,
        chosen: &Chosen,
        call: Call,
        work: impl Future<Output = Result<T, CloudError>>,
    ) -> Result<Option<T>, Refused> {
        let key = &self.view.machine.meta.key;
        let (provider, verb) = (chosen.provider, call.as_str());
        let called = CloudCall { provider, verb, key };
        let answer = self.writer.change_cloud(called, self.plan, work).await;
        let answer = answer.map_err(Refused::from);
        if let Some(Ok(machine)) = &self.view.reach {
            let group = group(self.view, machine, call);
            match &answer {
                Ok(Some(_)) => self.controller.failure_domains.succeeded(group),
                Err(Refused::Cloud(error)) => self.controller.failure_domains.failed(group, error),
                Ok(None) | Err(Refused::NotCalled(_)) => {}
            }
        }
        answer
    }
}

/// Why a cloud call failed.
enum Refused {
    /// The cloud refused, or did not answer.
    Cloud(CloudError),
    /// The call was not made.
    NotCalled(Failure),
}

impl From<CloudWriteError<CloudError>> for Refused {
    fn from(error: CloudWriteError<CloudError>) -> Self {
        match error {
            CloudWriteError::Cloud(error) => Self::Cloud(error),
            CloudWriteError::TimedOut(_) => {
                Self::Cloud(CloudError::new(ErrorClass::Unavailable, error.to_string()))
            }
            CloudWriteError::NotLeader(_) => Self::NotCalled(error.failure()),
        }
    }
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
