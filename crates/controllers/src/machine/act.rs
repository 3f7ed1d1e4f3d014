//! Carries a plan out: at most one effect, through the gateway. What clouds answer is remembered as a sighting at once.

use std::sync::Arc;
use std::time::Duration;

use machinist_api::names::FINALIZER_MACHINE;
use machinist_domain::meta::Meta;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use machinist_runtime::writer::{CloudCall, CloudWriteError, Guard, Part, WriteError, Writer};
use serde_json::{Value, json};

use super::MachineController;
use super::error::or_look_first;
use super::observe::group;
use super::plan::{Outcome, Plan};
use super::snapshot::{Call, Content, Gate, Snapshot, View};
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
    let act = Act { controller, view, plan, writer };
    match plan {
        Plan::Leave(why) => Outcome::Left(why.clone()),
        Plan::SettleAuthority => Outcome::AuthoritySettled,
        Plan::Look => Outcome::Looking,
        Plan::Wait(time) => Outcome::Waiting(*time),
        Plan::Refuse(refusal) => Outcome::Refused(refusal.clone()),
        Plan::Fail(fatal) => Outcome::GivenUp(fatal.clone()),
        Plan::Tell(instance) => {
            if instance.drift.is_none() && view.unrepaired.is_some() {
                controller.repairs.forget(&view.machine.meta.uid);
            }
            Outcome::Seen(Arc::clone(instance))
        }
        Plan::AwaitHooks => Outcome::AwaitingHooks,
        Plan::NothingToRemove => Outcome::NothingLeft,
        Plan::Pause { wait, why } => {
            act.wait_for_others();
            Outcome::Paused { wait: *wait, why: why.clone() }
        }
        Plan::AddFinalizer => act.patch(finalizers(view, true), Guard::Version).await,
        Plan::Release => act.patch(finalizers(view, false), Guard::Version).await,
        Plan::Record(patch) => act.patch(patch.clone(), Guard::Uid).await,
        Plan::Prepare { attempt } => act.prepare(*attempt).await,
        Plan::Create { .. } => act.create().await,
        Plan::Repair(_) => act.repair().await,
        Plan::Terminate => act.terminate().await,
        Plan::RemoveNode(node) => act.remove_node(node).await,
        Plan::Drain(verdict) => match &view.drain {
            Some(drain) => {
                let done = controller.drainer.act(drain, verdict, writer).await;
                Outcome::Drained(verdict.clone(), done)
            }
            None => Outcome::Done,
        },
    }
}

/// Our finalizer with those of others, or without.
fn finalizers(view: &View, ours: bool) -> Value {
    let others = view.machine.finalizers.iter().map(|name| &**name);
    let mut list: Vec<_> = others.filter(|name| *name != FINALIZER_MACHINE).collect();
    if ours {
        list.push(FINALIZER_MACHINE);
    }
    json!({"metadata": {"finalizers": list}})
}

struct Act<'a> {
    controller: &'a MachineController,
    view: &'a View,
    plan: &'a Plan,
    writer: &'a Writer,
}

impl Act<'_> {
    async fn patch(&self, patch: Value, guard: Guard) -> Outcome {
        let (machines, meta) = (&self.controller.machines, &self.view.machine.meta);
        written(self.writer.patch(machines, meta, Part::Object, guard, patch, self.plan).await)
    }

    async fn remove_node(&self, node: &Meta) -> Outcome {
        let writer = self.writer.target();
        match written(writer.delete(&self.controller.nodes, node, self.plan).await) {
            // A Node that the machine does not name brings nobody back when it goes.
            Outcome::Done => Outcome::Waiting(Duration::ZERO),
            outcome => outcome,
        }
    }

    fn wait_for_others(&self) {
        if let Some(Ok(machine)) = &self.view.reach {
            let group = group(self.view, machine, self.view.next_call());
            self.controller.failure_domains.wait(group, &machine.key);
        }
    }

    async fn prepare(&self, attempt: u32) -> Outcome {
        let (machine, chosen) = match self.reach() {
            Ok(reach) => reach,
            Err(outcome) => return *outcome,
        };
        let machine = MachineRef { attempt, ..machine.clone() };
        let patience = self.controller.shared.timings.cloud_call;
        let prepared = tokio::time::timeout(patience, chosen.cloud.prepare(&machine)).await;
        match prepared {
            Ok(Ok(stored)) => Outcome::Prepared(stored),
            Ok(Err(error)) => {
                self.controller
                    .failure_domains
                    .failed(group(self.view, &machine, Call::Create), &error);
                Outcome::NotCreated(CloudError { effect: Effect::None, ..error })
            }
            Err(_) => Outcome::NotCreated(CloudError {
                effect: Effect::None,
                ..CloudError::new(ErrorClass::Unavailable, "the cloud did not answer in time")
            }),
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
                self.controller.instances.saw(machine, &instance);
                Outcome::Created(instance)
            }
            Ok(None) => Outcome::DryRun,
            Err(Refused::Cloud(error)) => {
                // Whatever was seen before this call says nothing about after it.
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
        match self.change(&chosen, Call::Update, chosen.cloud.update(machine)).await {
            Ok(Some(instance)) => {
                let instance = Arc::new(instance);
                self.controller.instances.saw(machine, &instance);
                if let Some(drift) = &instance.drift {
                    let error = still_differs(drift);
                    repairs.failed(&machine.uid, &error.message);
                    return Outcome::NotRepaired(error);
                }
                repairs.forget(&machine.uid);
                Outcome::Repaired(instance)
            }
            Ok(None) => Outcome::DryRun,
            Err(Refused::Cloud(error)) => {
                repairs.failed(&machine.uid, &error.message);
                Outcome::NotRepaired(error)
            }
            Err(Refused::NotCalled(failure)) => Outcome::Failed(failure),
        }
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

    /// How to call the cloud, if machines like this one do not pause at the moment.
    fn enter(&self, call: Call) -> Result<(&MachineRef, Chosen), Box<Outcome>> {
        let (machine, chosen) = self.reach()?;
        match self.controller.failure_domains.enter(group(self.view, machine, call), &machine.key) {
            Gate::Open => Ok((machine, chosen)),
            Gate::Closed { wait, why } => Err(Box::new(Outcome::Paused { wait, why })),
        }
    }

    fn reach(&self) -> Result<(&MachineRef, Chosen), Box<Outcome>> {
        let machine = match &self.view.reach {
            Some(Ok(machine)) => machine,
            Some(Err(refusal)) => return Err(Box::new(Outcome::Refused(refusal.clone()))),
            None => return Err(Box::new(Outcome::Looking)),
        };
        let chosen = self.controller.clouds.choose(&machine.spec);
        Ok((machine, chosen.map_err(|error| Box::new(Outcome::Refused(error.into())))?))
    }

    /// Changes the cloud, and tells those who wait what came of it.
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

/// A repair after which the same is to be repaired again. It may take the cloud a moment to show what it did; it may also never do it.
fn still_differs(drift: &str) -> CloudError {
    CloudError::new(ErrorClass::Unknown, format!("it was repaired, and still differs: {drift}"))
}

/// Why the cloud did not do what it was asked.
enum Refused {
    /// It said no, or nobody knows what it did.
    Cloud(CloudError),
    /// It was not asked.
    NotCalled(Failure),
}

impl From<CloudWriteError<CloudError>> for Refused {
    fn from(error: CloudWriteError<CloudError>) -> Self {
        match error {
            CloudWriteError::Cloud(error) => Self::Cloud(error),
            CloudWriteError::TimedOut(_) => {
                Self::Cloud(CloudError::new(ErrorClass::Unavailable, error.to_string()))
            }
            CloudWriteError::NotLeader { .. } => Self::NotCalled(error.failure()),
        }
    }
}

/// What came of a write to Kubernetes. What is gone needs nothing.
fn written<T>(answer: Result<Option<T>, WriteError>) -> Outcome {
    match answer {
        Ok(Some(_)) => Outcome::Done,
        Ok(None) => Outcome::DryRun,
        Err(error) if error.not_found() => Outcome::Done,
        Err(error) => {
            let failure = error.failure();
            // Somebody was faster: what is there now is looked at before anything else is done.
            let retry =
                if failure.category == Category::Conflict { Retry::Soon } else { failure.retry };
            Outcome::Failed(Failure { retry, ..failure })
        }
    }
}
