//! The state of a Machine after a reconcile, as its status is to show it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_INSTANCE_EXISTS, INSTANCE_STATE_UNKNOWN, REASON_ERROR_CHECKING_PROVIDER,
    REASON_INSTANCE_MISSING, REASON_INSTANCE_NOT_CREATED, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::Condition;
use machinist_domain::machine::Phase;
use machinist_domain::observed::Observed;
use machinist_domain::report::EventNote;
use machinist_provider::cloud::{
    CloudError, Deletion, Effect, ErrorClass, Instance, InstanceState, ProviderStatus,
};

use super::super::error::Fatal;
use super::super::messages;
use super::super::plan::{Outcome, Plan, Reason};
use super::super::snapshot::{REASON_INSTANCE_GONE, REASON_INSTANCE_NOT_REQUESTED, View};
use super::ready;
use crate::drain::{self, Step};

/// The condition `Paused`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paused {
    /// This controller manages the Machine.
    No,
    /// Another machine API manages it.
    Elsewhere,
    /// `authoritativeAPI` has an unknown value.
    Unclear,
}

/// The state after a reconcile. `None` means unchanged.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) phase: Option<Phase>,
    pub(super) instance_exists: Option<Condition>,
    pub(super) drained: Option<Condition>,
    pub(super) ready: Option<Condition>,
    /// Set if the Machine fails in this reconcile.
    pub(super) fatal: Option<Fatal>,
    pub(super) instance: Option<Arc<Instance>>,
    /// `status.providerStatus`.
    pub(super) stored: Option<ProviderStatus>,
    pub(super) paused: Option<Paused>,
    /// The status is not written at all.
    pub(super) is_silent: bool,
    /// Its Node is about to be linked, which changes the status again: this write is saved.
    pub(super) is_settling: bool,
    /// The creation has exceeded its limit in this reconcile.
    pub(super) is_late: bool,
    pub(super) drain_step: Option<Step>,
    pub(super) drain_events: Vec<EventNote>,
}

impl Facts {
    pub(super) fn after(view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) -> Self {
        let phase = view.machine.status.phase;
        let mut facts = Self {
            phase: if view.machine.meta.deleting { Some(Phase::Deleting) } else { phase },
            paused: view.rules.obey_migration.then_some(Paused::No),
            ..Self::default()
        };
        match outcome {
            Outcome::Done => facts.planned(view, plan, now),
            outcome => facts.acted(view, plan, outcome, now),
        }
        facts.ready = ready::condition(view, plan, outcome, &facts);
        ready::check_creation_limit(view, &mut facts, now);
        facts
    }

    /// The plan says it all.
    fn planned(&mut self, view: &View, plan: &Plan, now: Timestamp) {
        match plan {
            Plan::NoOp(Reason::ManagedElsewhere) => self.managed_elsewhere(view, Paused::Elsewhere),
            Plan::NoOp(Reason::UnknownAuthority) => self.managed_elsewhere(view, Paused::Unclear),
            Plan::NoOp(Reason::Failed) => {}
            Plan::Wait(_) => self.is_silent = !view.awaits_unrecorded_instance(),
            Plan::Refuse(refusal) => self.refused(view, &refusal.to_string()),
            Plan::Pause { .. } => self.creating(view),
            Plan::Fail(fatal) => self.failed(view, fatal.clone()),
            Plan::UpdateStatus(instance) => self.seen(view, instance, now),
            Plan::AwaitHooks => self.untouched(view),
            Plan::NothingToRemove => self.gone(),
            Plan::NoOp(Reason::Undecodable(_) | Reason::Deleting)
            | Plan::SetAuthority(_)
            | Plan::AddFinalizer
            | Plan::AwaitCloud
            | Plan::Prepare { .. }
            | Plan::Create { .. }
            | Plan::Record(_)
            | Plan::Repair(_)
            | Plan::Drain(_)
            | Plan::Terminate
            | Plan::RemoveNode(_)
            | Plan::Release => self.is_silent = true,
        }
    }

    fn acted(&mut self, view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) {
        match outcome {
            Outcome::Done | Outcome::DryRun | Outcome::Created(_) => self.is_silent = true,
            Outcome::Failed(failure) => self.is_silent = !failure.category.needs_attention(),
            Outcome::Paused { .. } => self.creating(view),
            Outcome::Prepared(stored) => {
                self.creating(view);
                // An attempt is prepared only after the previous one was looked for and not found.
                self.instance_exists = (!view.had_instance()).then(|| not_created(stored));
                self.stored = Some(stored.clone());
            }
            Outcome::NotCreated(error) => {
                let hopeless = error.class == ErrorClass::InvalidConfiguration
                    && error.effect != Effect::Unclear;
                if hopeless {
                    self.failed(view, Fatal::InvalidConfiguration(error.message.clone()));
                } else {
                    self.creating(view);
                    if let Some(uncertain) = uncertain(view, error) {
                        self.instance_exists = Some(uncertain);
                    }
                }
            }
            Outcome::Repaired(instance) => self.seen(view, instance, now),
            Outcome::NotRepaired(_) => {
                if let Observed::Present(instance) = &view.observed {
                    self.seen(view, instance, now);
                }
            }
            Outcome::Drained(outcome) => {
                if let (Some(drained), Plan::Drain(plan)) = (&view.drain, plan) {
                    let report = drain::report(drained, plan, outcome, now);
                    self.drain_step = Some(report.step);
                    self.drained = report.condition;
                    self.drain_events = report.events;
                }
                self.untouched(view);
            }
            Outcome::Terminating(Deletion::Gone) => self.gone(),
            Outcome::NotTerminated(_) | Outcome::Terminating(Deletion::UnderWay(_)) => {}
        }
    }

    fn gone(&mut self) {
        let (kind, reason) = (CONDITION_INSTANCE_EXISTS, REASON_INSTANCE_GONE);
        let text = messages::NOTHING_LEFT;
        self.instance_exists = Some(Condition::no(kind, SEVERITY_INFO, reason, text));
    }

    /// Whether only the condition `Paused` is reported.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some_and(|paused| paused != Paused::No)
    }

    fn managed_elsewhere(&mut self, view: &View, paused: Paused) {
        self.paused = Some(paused);
        self.phase = view.machine.status.phase;
    }

    /// The cloud cannot be called. It is still known whether anything was ever requested.
    fn refused(&mut self, view: &View, why: &str) {
        if view.is_untouched() {
            self.instance_exists = Some(not_created(&view.stored));
        } else if !view.is_gone() {
            let reason = REASON_ERROR_CHECKING_PROVIDER;
            self.instance_exists = Some(Condition::unknown(CONDITION_INSTANCE_EXISTS, reason, why));
        }
    }

    /// A phase without `InstanceNotRequested` would look as if another controller had begun.
    fn untouched(&mut self, view: &View) {
        if view.is_untouched() {
            self.instance_exists = Some(not_created(&view.stored));
        }
    }

    /// If an earlier request may have created an instance, `InstanceExists` stays.
    fn creating(&mut self, view: &View) {
        if view.machine.meta.deleting {
            return;
        }
        self.phase = self.phase.or(Some(Phase::Provisioning));
        if is_not_created(view) {
            self.instance_exists = Some(not_created(&view.stored));
        }
    }

    fn failed(&mut self, view: &View, fatal: Fatal) {
        self.phase = Some(Phase::Failed);
        self.instance_exists = match &fatal {
            Fatal::Missing(_) | Fatal::Terminated { .. } => Some(Condition::no(
                CONDITION_INSTANCE_EXISTS,
                SEVERITY_WARNING,
                REASON_INSTANCE_MISSING,
                fatal.to_string(),
            )),
            Fatal::InvalidConfiguration(_) if is_not_created(view) => {
                Some(not_created(&view.stored))
            }
            Fatal::NotCreatedInTime(_) if view.is_untouched() => Some(not_created(&view.stored)),
            _ => None,
        };
        self.stored = without_state(&view.stored);
        self.fatal = Some(fatal);
    }

    fn seen(&mut self, view: &View, instance: &Arc<Instance>, now: Timestamp) {
        let linked = view.machine.status.node_ref.is_some();
        self.phase = Some(if linked { Phase::Running } else { Phase::Provisioned });
        self.instance_exists = Some(Condition::yes(CONDITION_INSTANCE_EXISTS));
        self.stored = Some(instance.status.clone());
        self.instance = Some(Arc::clone(instance));
        self.is_settling = !linked && is_joining(view, instance, now);
    }

    /// The time until a creation limit is over; `None` if none applies any more.
    pub(super) fn time_left(&self, view: &View, now: Timestamp) -> Option<Duration> {
        let coming = matches!(self.phase, None | Some(Phase::Provisioning | Phase::Provisioned));
        let age = Duration::try_from(now.duration_since(view.machine.created)).unwrap_or_default();
        let own = view.own_creation_limit().and_then(|(limit, _)| limit.try_into().ok());
        let limits = [Some(view.rules.timings.creation), own].into_iter().flatten();
        let left = limits.filter_map(|limit: Duration| limit.checked_sub(age));
        left.filter(|left| coming && !left.is_zero()).min()
    }
}

/// Whether a Node is expected to be linked shortly: the instance runs, and the status was written a moment
/// ago. If no Node is linked, the status is written a little later.
fn is_joining(view: &View, instance: &Instance, now: Timestamp) -> bool {
    let poll = view.rules.timings.poll;
    let patience = if view.node.is_some() { poll } else { poll / 4 };
    let quiet = view.machine.status.last_updated.map(|last| now.duration_since(last));
    let quiet = quiet.and_then(|time| Duration::try_from(time).ok());
    instance.state == InstanceState::Running
        && view.machine.status.phase == Some(Phase::Provisioning)
        && quiet.is_some_and(|time| time < patience)
}

/// Whether no request can have created an instance: no launch is stored, or the instance was not found.
fn is_not_created(view: &View) -> bool {
    let looked_for = matches!(view.observed, Observed::Absent);
    !view.had_instance() && (view.attempt().is_none() || looked_for)
}

/// What a failed create call leaves open about the instance; `None` if it leaves nothing open.
fn uncertain(view: &View, error: &CloudError) -> Option<Condition> {
    if view.had_instance() {
        return None;
    }
    let text = match error.effect {
        Effect::None => return None,
        Effect::NoneForThisAttempt if error.class == ErrorClass::CapacityExhausted => return None,
        Effect::NoneForThisAttempt => messages::CHECKING_EARLIER_REQUEST,
        Effect::Unclear => messages::CHECKING_UNANSWERED_REQUEST,
    };
    let reason = REASON_ERROR_CHECKING_PROVIDER;
    Some(Condition::unknown(CONDITION_INSTANCE_EXISTS, reason, text))
}

fn not_created(stored: &ProviderStatus) -> Condition {
    let (reason, text) = if stored.is_empty() {
        (REASON_INSTANCE_NOT_REQUESTED, messages::NOT_REQUESTED)
    } else {
        (REASON_INSTANCE_NOT_CREATED, messages::NOT_CREATED)
    };
    Condition::no(CONDITION_INSTANCE_EXISTS, SEVERITY_WARNING, reason, text)
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
