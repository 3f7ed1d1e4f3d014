//! What a plan and its outcome mean for the status, Events and requeue of a Machine.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_INSTANCE_EXISTS, CONDITION_PAUSED, CONDITION_READY, INSTANCE_STATE_UNKNOWN,
    REASON_MACHINE_API, REASON_NOT_MACHINE_API, SEVERITY_ERROR, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::Condition;
use machinist_domain::machine::{MachineAuthority, Phase};
use machinist_domain::observed::Observed;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult};
use machinist_domain::retry::{Classified as _, Retry};
use machinist_provider::cloud::{CloudError, Deletion, Instance, InstanceState, ProviderStatus};

use super::super::error::{Fatal, Refusal};
use super::super::in_place;
use super::super::messages::{self, capitalized};
use super::super::plan::{Outcome, Plan, Reason};
use super::super::snapshot::{Call, Pause, View};
use super::{instance_exists, ready};
use crate::drain::{self, Step};
use crate::in_place::UpdateResult;
use crate::machine_set::memory::skips_machine;

/// The state after a reconcile. `None` means unchanged.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) phase: Option<Phase>,
    pub(super) paused: Option<Condition>,
    pub(super) instance_exists: Option<Condition>,
    pub(super) drained: Option<Condition>,
    /// The drain of a preserved Machine: its step and text.
    pub(super) preserved_drain: Option<(Step, String)>,
    pub(super) ready: Option<Condition>,
    pub(super) in_place: InPlace,
    pub(super) fatal: Option<Fatal>,
    pub(super) instance: Option<Arc<Instance>>,
    pub(super) stored: Option<ProviderStatus>,
    pub(super) is_silent: bool,
    /// Its Node is about to be linked, which changes the status again: this write is saved.
    pub(super) is_settling: bool,
    pub(super) is_late: bool,
    pub(super) events: Vec<EventNote>,
    /// `None` after a write; `Settled` holds only if the status is not written either.
    pub(super) result: Option<ReconcileResult>,
    /// Most of what a Machine waits for is watched; clouds and deadlines are polled.
    pub(super) retry: Option<Retry>,
}

/// The condition of an update in place.
#[derive(Debug, Default)]
pub(super) enum InPlace {
    #[default]
    Unchanged,
    Absent,
    Is(Condition),
}

impl Facts {
    pub(super) fn after(view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) -> Self {
        let deleting = view.machine.meta.deleting.then_some(Phase::Deleting);
        let mut facts = Self {
            phase: deleting.or(view.machine.status.phase),
            paused: view.rules.obey_migration.then(|| {
                let text = messages::authority(MachineAuthority::MachineApi);
                Condition::no(CONDITION_PAUSED, SEVERITY_INFO, REASON_MACHINE_API, text)
            }),
            ..Self::default()
        };
        match outcome {
            Outcome::Done => facts.planned(view, plan, now),
            outcome => facts.acted(view, plan, outcome, now),
        }
        facts.begin(view);
        facts.update_in_place(view, outcome, now);
        ready::check_creation_limit(view, &mut facts, now);
        facts
    }

    fn planned(&mut self, view: &View, plan: &Plan, now: Timestamp) {
        match plan {
            Plan::NoOp(reason) => {
                self.result = Some(ReconcileResult::Settled);
                self.nothing_done(view, reason);
            }
            Plan::AwaitCloud => {
                self.result = Some(ReconcileResult::Waiting);
                self.is_silent = true;
            }
            Plan::Wait(wait) => {
                self.wait(*wait);
                if view.awaits_unrecorded_instance() {
                    self.ready = Some(ready::deleting(messages::CHECKING_UNANSWERED_REQUEST));
                } else {
                    self.is_silent = true;
                }
            }
            Plan::Refuse(refusal) => self.refused(view, refusal),
            Plan::Pause(pause) => self.paused_calls(view, pause),
            Plan::Fail(fatal) => self.failed(view, fatal.clone()),
            Plan::UpdateStatus(instance) => {
                self.result = Some(ReconcileResult::Settled);
                let unrepaired = view.unrepaired.as_ref().filter(|_| instance.drift.is_some());
                self.seen(view, instance, unrepaired.map(|last| &*last.why), now);
                if self.is_settling {
                    self.retry = Some(Retry::Again(view.rules.timings.poll / 4));
                }
            }
            Plan::AwaitHooks => {
                self.result = Some(ReconcileResult::Waiting);
                self.untouched(view);
                self.ready = Some(ready::hooked(&view.machine.hooks.pre_terminate));
            }
            Plan::NothingToRemove => self.gone(),
            Plan::RemoveNode(_) => {
                // A Node that the Machine does not name does not requeue it when it is gone.
                self.wait(Duration::ZERO);
                self.is_silent = true;
            }
            Plan::SetAuthority(_)
            | Plan::AddFinalizer
            | Plan::Prepare { .. }
            | Plan::Create { .. }
            | Plan::Record(_)
            | Plan::Repair(_)
            | Plan::Drain(_)
            | Plan::Preserve(_)
            | Plan::EndPreservation
            | Plan::MarkNode { .. }
            | Plan::DrainPreserved { .. }
            | Plan::Terminate
            | Plan::Release => self.is_silent = true,
            Plan::InPlace(step) => {
                self.is_silent = true;
                if let in_place::Step::Take(UpdateResult::Successful) = step {
                    self.inform(EventReason::Update, "UpdateInPlace", messages::UPDATED);
                }
            }
        }
    }

    fn acted(&mut self, view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) {
        match outcome {
            Outcome::Done => self.is_silent = true,
            Outcome::DryRun => {
                self.result = Some(ReconcileResult::Settled);
                self.is_silent = true;
            }
            // The next reconcile leaves the Node as it is, and reports on the rest.
            Outcome::Failed(failure)
                if matches!(plan, Plan::MarkNode { .. }) && skips_machine(failure.category) =>
            {
                self.result = Some(ReconcileResult::Failed);
                self.retry = Some(Retry::Soon);
                self.is_silent = true;
                self.warn(
                    EventReason::FailedUpdate,
                    "Preserve",
                    messages::node_not_marked(&failure.message),
                );
            }
            Outcome::Failed(failure) => {
                self.result = Some(ReconcileResult::Failed);
                self.retry = Some(failure.retry);
                self.is_silent = !failure.category.needs_attention();
                if !self.is_silent {
                    let text = messages::write_failed(&failure.message);
                    let reason = failure.category.as_str();
                    self.ready = Some(ready::no(SEVERITY_WARNING, reason, text.as_str()));
                    self.warn(EventReason::ReconcileError, "Write", text);
                }
            }
            Outcome::Paused(pause) => self.paused_calls(view, pause),
            Outcome::Prepared(stored) => {
                self.creating(view);
                // An attempt is prepared only after the previous one was looked for and not found.
                self.instance_exists =
                    (!view.had_instance()).then(|| instance_exists::not_created(stored));
                self.stored = Some(stored.clone());
                self.ready = Some(ready::creating());
            }
            Outcome::Created(instance) => {
                self.is_silent = true;
                self.inform(EventReason::Create, "Create", messages::created(instance));
            }
            Outcome::Repaired(instance) => {
                self.seen(view, instance, None, now);
                self.inform(EventReason::Update, "Update", messages::updated(instance));
            }
            Outcome::CallFailed(call, error) => self.call_failed(view, *call, error, now),
            Outcome::Drained(_) if matches!(plan, Plan::InPlace(_)) => {}
            Outcome::Drained(outcome) if !view.machine.meta.deleting => {
                self.preserved(view, plan, outcome, now);
            }
            Outcome::Drained(outcome) => {
                self.result = Some(ReconcileResult::Settled);
                if let (Some(drained), Plan::Drain(plan)) = (&view.drain, plan) {
                    let report = drain::report(drained, plan, outcome, now);
                    self.ready = Some(ready::deleting(messages::draining(report.step)));
                    self.drained = report.condition;
                    self.events = report.events;
                    self.retry = plan.again(outcome).map(Retry::Again);
                }
                self.untouched(view);
            }
            Outcome::Terminating(Deletion::UnderWay(what)) => {
                self.ready = Some(ready::deleting(capitalized(what)));
                self.retry = Some(Retry::Again(view.rules.timings.poll));
            }
            Outcome::Terminating(Deletion::Gone) => {
                self.gone();
                self.inform(EventReason::Delete, "Delete", messages::INSTANCE_DELETED);
            }
        }
    }

    fn preserved(&mut self, view: &View, plan: &Plan, outcome: &drain::Outcome, now: Timestamp) {
        let (Some(drained), Plan::DrainPreserved { drain, rest }) = (&view.drain, plan) else {
            return;
        };
        self.planned(view, rest, now);
        let report = drain::report(drained, drain, outcome, now);
        let text = report.condition.and_then(|condition| condition.message);
        self.preserved_drain = text.map(|text| (report.step, text.into()));
        self.events.extend(report.events);
        self.retry = match (self.retry, drain.again(outcome)) {
            (None | Some(Retry::OnChange), Some(again)) => Some(Retry::Again(again)),
            (Some(Retry::Again(wait)), Some(again)) => Some(Retry::Again(wait.min(again))),
            (retry, _) => retry,
        };
    }

    fn update_in_place(&mut self, view: &View, outcome: &Outcome, now: Timestamp) {
        if view.machine.meta.deleting || self.is_silent || self.is_elsewhere() {
            return;
        }
        let drained = match outcome {
            Outcome::Drained(drained) => Some(drained),
            _ => None,
        };
        let report = in_place::report(view, drained, now);
        self.in_place = report.condition.map_or(InPlace::Absent, InPlace::Is);
        self.events.extend(report.events);
        self.retry = match (self.retry, report.again) {
            (None | Some(Retry::OnChange), Some(again)) => Some(Retry::Again(again)),
            (Some(Retry::Again(wait)), Some(again)) => Some(Retry::Again(wait.min(again))),
            (retry, _) => retry,
        };
    }

    /// Whether another machine API manages the Machine: only the condition `Paused` is written.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.paused.as_ref().is_some_and(Condition::is_true)
    }

    fn inform(&mut self, reason: EventReason, action: &'static str, note: impl Into<String>) {
        self.events.push(EventNote::normal(reason, action, note));
    }

    fn warn(&mut self, reason: EventReason, action: &'static str, note: impl Into<String>) {
        self.events.push(EventNote::warning(reason, action, note));
    }

    fn wait(&mut self, time: Duration) {
        self.result = Some(ReconcileResult::Waiting);
        self.retry = Some(Retry::Again(time));
    }

    fn nothing_done(&mut self, view: &View, reason: &Reason) {
        let text = messages::authority(view.authority());
        match reason {
            Reason::Failed => return,
            Reason::Undecodable(_) | Reason::Deleting => {
                self.is_silent = true;
                return;
            }
            Reason::ManagedElsewhere => {}
            Reason::UnknownAuthority => {
                self.warn(EventReason::FailedValidate, "Validate", text.as_str());
            }
        }
        self.paused = Some(Condition::yes(CONDITION_PAUSED).because(REASON_NOT_MACHINE_API, text));
        self.phase = view.machine.status.phase;
    }

    /// The cloud cannot be called. It is still known whether anything was ever requested.
    fn refused(&mut self, view: &View, refusal: &Refusal) {
        let text = refusal.to_string();
        self.result = Some(ReconcileResult::Refused);
        self.retry = Some(refusal.retry());
        self.ready = Some(ready::no(SEVERITY_WARNING, refusal.category().as_str(), text.as_str()));
        if view.is_untouched() {
            self.instance_exists = Some(instance_exists::not_created(&view.stored));
        } else if !view.is_gone() {
            self.instance_exists = Some(instance_exists::unknown(text.as_str()));
        }
        let reason = match refusal {
            Refusal::NoClusterLabel | Refusal::BadSpec(_) => EventReason::FailedValidate,
            Refusal::NoSecret(_) | Refusal::NotFoundOut(_) | Refusal::CouldNotLook(_) => {
                EventReason::ReconcileError
            }
        };
        self.warn(reason, "Validate", text);
    }

    fn paused_calls(&mut self, view: &View, pause: &Pause) {
        self.wait(pause.wait);
        self.creating(view);
        let (reason, text) = (pause.why.category.as_str(), capitalized(&pause.why.message));
        self.ready = Some(ready::no(SEVERITY_WARNING, reason, text));
    }

    fn call_failed(&mut self, view: &View, call: Call, error: &CloudError, now: Timestamp) {
        let text = capitalized(&error.message);
        match call {
            Call::Create => {
                if let Some(fatal) = Fatal::of_create(error) {
                    self.failed(view, fatal);
                    let recorded = error.status.as_deref();
                    let recorded =
                        recorded.map(|it| without_state(it).unwrap_or_else(|| it.clone()));
                    self.stored = recorded.or(self.stored.take());
                    self.result = Some(ReconcileResult::Failed);
                    return;
                }
                self.creating(view);
                self.stored = error.status.as_deref().cloned();
                if let Some(uncertain) = instance_exists::uncertain(view, error) {
                    self.instance_exists = Some(uncertain);
                }
                let reason = error.category().as_str();
                self.ready = Some(ready::no(SEVERITY_WARNING, reason, text.as_str()));
                self.warn(EventReason::FailedCreate, "Create", text);
            }
            Call::Update => {
                if let Observed::Present(instance) = &view.observed {
                    self.seen(view, instance, Some(&error.message), now);
                }
                self.warn(EventReason::FailedUpdate, "Update", text);
            }
            Call::Delete => {
                let id = view.observed.present().map(|instance| &*instance.id);
                self.ready = Some(ready::not_terminated(id, error));
                self.warn(EventReason::FailedDelete, "Delete", text);
            }
        }
        self.result = Some(ReconcileResult::Failed);
        // No watch reports that the cloud would answer differently.
        self.retry = Some(error.retry().or_backoff());
    }

    fn gone(&mut self) {
        self.instance_exists = Some(instance_exists::gone());
        self.ready = Some(ready::deleting(messages::INSTANCE_DELETED));
    }

    /// A phase without `InstanceNotRequested` would look as if another controller had begun.
    fn untouched(&mut self, view: &View) {
        if view.is_untouched() {
            self.instance_exists = Some(instance_exists::not_created(&view.stored));
        }
    }

    /// Whatever is reported first about a Machine, its phase is not left empty.
    fn begin(&mut self, view: &View) {
        if self.phase.is_none() && !self.is_silent && !self.is_elsewhere() {
            self.phase = Some(Phase::Provisioning);
            self.untouched(view);
        }
    }

    /// If an earlier request may have created an instance, `InstanceExists` stays.
    fn creating(&mut self, view: &View) {
        if view.machine.meta.deleting {
            return;
        }
        self.phase = self.phase.or(Some(Phase::Provisioning));
        if instance_exists::is_not_created(view) {
            self.instance_exists = Some(instance_exists::not_created(&view.stored));
        }
    }

    fn failed(&mut self, view: &View, fatal: Fatal) {
        let text = fatal.to_string();
        self.phase = Some(Phase::Failed);
        self.instance_exists = match &fatal {
            Fatal::Missing(_) | Fatal::Terminated { .. } => Some(instance_exists::missing(&text)),
            Fatal::InvalidConfiguration(_) if instance_exists::is_not_created(view) => {
                Some(instance_exists::not_created(&view.stored))
            }
            Fatal::NotCreatedInTime(_) if view.is_untouched() => {
                Some(instance_exists::not_created(&view.stored))
            }
            _ => None,
        };
        self.stored = without_state(&view.stored);
        self.ready = Some(ready::no(SEVERITY_ERROR, ready::FAILED, text.as_str()));
        self.fatal = Some(fatal);
        self.warn(EventReason::MachineFailed, "Fail", text);
    }

    /// The instance exists; `drift` is why it still differs from its spec.
    fn seen(&mut self, view: &View, instance: &Arc<Instance>, drift: Option<&str>, now: Timestamp) {
        let linked = view.machine.status.node_ref.is_some();
        self.phase = Some(if linked { Phase::Running } else { Phase::Provisioned });
        self.instance_exists = Some(Condition::yes(CONDITION_INSTANCE_EXISTS));
        self.stored = Some(instance.status.clone());
        self.instance = Some(Arc::clone(instance));
        self.is_settling = !linked && is_joining(view, instance, now);
        let ready = ready::seen(view, instance, drift);
        self.retry = observe_again(view, instance, &ready).map(Retry::Again);
        // On the second look: the Node may be newer than this cache.
        let known = view.machine.condition(CONDITION_READY);
        if ready::is_without_node(&ready) && known.is_some_and(ready::is_without_node) {
            let text = ready.message.as_deref().unwrap_or_default();
            self.warn(EventReason::NodeMissing, "Reconcile", text);
        }
        self.ready = Some(ready);
    }
}

/// When to read the state of the instance again: it is not running, its Node is not well (so it may be gone),
/// the observation is uncertain, or its drift is to be repaired.
fn observe_again(view: &View, instance: &Instance, ready: &Condition) -> Option<Duration> {
    let poll = view.rules.timings.poll;
    let runs = instance.state == InstanceState::Running;
    let look = (!runs || !ready::runs_well(ready) || instance.uncertain).then_some(poll);
    let pause = view.unrepaired.as_ref().map(|last| last.wait);
    let pause = pause.filter(|wait| !wait.is_zero()).unwrap_or(poll);
    let repair = instance.drift.as_ref().map(|_| pause);
    look.into_iter().chain(repair).min()
}

/// Whether a Node is expected to be linked shortly (the instance runs and the status was just written), so that one
/// status write is saved. If none is linked, it is written a little later.
fn is_joining(view: &View, instance: &Instance, now: Timestamp) -> bool {
    let poll = view.rules.timings.poll;
    let patience = if view.node.is_some() { poll } else { poll / 4 };
    let quiet = view.machine.status.last_updated.map(|last| now.duration_since(last));
    let quiet = quiet.and_then(|time| Duration::try_from(time).ok());
    instance.state == InstanceState::Running
        && view.machine.status.phase == Some(Phase::Provisioning)
        && quiet.is_some_and(|time| time < patience)
}

/// The stored state of an instance that is not observed any more becomes Unknown, as in OpenShift.
fn without_state(stored: &ProviderStatus) -> Option<ProviderStatus> {
    let mut changed = stored.clone();
    for name in ["instanceState", "vmState"] {
        if let Some(state) = changed.0.get_mut(name) {
            *state = INSTANCE_STATE_UNKNOWN.into();
        }
    }
    (changed != *stored).then_some(changed)
}
