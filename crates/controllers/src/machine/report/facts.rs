//! What a machine is like after a pass: everything that its status is to say.

use std::sync::Arc;
use std::time::Duration;

use crate::drain::Step;
use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_INSTANCE_EXISTS, REASON_ERROR_CHECKING_PROVIDER, REASON_INSTANCE_MISSING,
    REASON_INSTANCE_NOT_CREATED, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::Condition;
use machinist_domain::machine::{MachineAuthority, Phase};
use machinist_domain::report::EventNote;
use machinist_provider::cloud::{
    CloudError, Deletion, Effect, ErrorClass, Instance, InstanceState, ProviderStatus, Sighting,
};

use super::super::error::Fatal;
use super::super::plan::{Leave, Outcome};
use super::super::snapshot::{REASON_INSTANCE_GONE, TEXT_NOT_CREATED, View};
use super::ready;
use crate::drain;

/// Whether a machine is kept off because of who is in charge of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paused {
    /// It is not: we are in charge.
    No,
    /// Another machine API is in charge.
    Elsewhere,
    /// Nobody here knows who is.
    Unclear,
}

/// What is said of a machine of which nobody knows who is in charge.
pub(super) const TEXT_UNKNOWN_AUTHORITY: &str =
    "nobody here knows who is in charge of this machine: authoritativeAPI has an unknown word";

/// What a machine is like after a pass. `None` means that it stays as it is.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// How far it is; the same as before where it stays as it is.
    pub(super) phase: Option<Phase>,
    /// Whether its instance exists.
    pub(super) instance_exists: Option<Condition>,
    /// Whether its Node is drained.
    pub(super) drained: Option<Condition>,
    /// Whether all is as it should be.
    pub(super) ready: Option<Condition>,
    /// Why it failed for good in this pass.
    pub(super) fatal: Option<Fatal>,
    /// Its instance.
    pub(super) instance: Option<Arc<Instance>>,
    /// What its provider stores.
    pub(super) stored: Option<ProviderStatus>,
    /// Who is in charge of it from now on.
    pub(super) authority: Option<MachineAuthority>,
    /// Whether it is kept off because of who is in charge of it; `None` where that is not to be said.
    pub(super) paused: Option<Paused>,
    /// Whether nothing at all is to be said.
    pub(super) is_silent: bool,
    /// Whether its Node is about to be linked: what is to be said now would be out of date at once.
    pub(super) is_settling: bool,
    /// Whether its creation takes longer than it should, since just now.
    pub(super) is_late: bool,
    /// Where the drain is.
    pub(super) drain_step: Option<Step>,
    /// What the drain has to say.
    pub(super) drain_events: Vec<EventNote>,
}

impl Facts {
    pub(super) fn after(view: &View, outcome: &Outcome, now: Timestamp) -> Self {
        let phase = view.machine.status.phase;
        let mut facts = Self {
            phase: if view.machine.meta.deleting { Some(Phase::Deleting) } else { phase },
            paused: view.rules.obey_migration.then_some(Paused::No),
            ..Self::default()
        };
        facts.learn(view, outcome, now);
        facts.ready = ready::condition(view, outcome, &facts);
        ready::mind_the_time(view, &mut facts, now);
        facts
    }

    fn learn(&mut self, view: &View, outcome: &Outcome, now: Timestamp) {
        match outcome {
            Outcome::Left(Leave::Elsewhere) => self.kept_off(view, Paused::Elsewhere),
            Outcome::Left(Leave::UnknownAuthority) => self.kept_off(view, Paused::Unclear),
            Outcome::Left(Leave::Undecodable(_) | Leave::Going)
            | Outcome::Done
            | Outcome::DryRun
            | Outcome::Looking
            | Outcome::Created(_) => self.is_silent = true,
            Outcome::Waiting(_) => self.is_silent = !view.awaits_an_unknown_instance(),
            Outcome::Failed(failure) => self.is_silent = !failure.category.is_for_people(),
            Outcome::AuthoritySettled => {
                let wanted = view.machine.wanted_authority;
                let unsaid = wanted.as_str().is_none();
                self.authority = Some(if unsaid { MachineAuthority::MachineApi } else { wanted });
                (self.paused, self.phase) = (None, view.machine.status.phase);
            }
            Outcome::Refused(refusal) => self.not_asked(view, &refusal.to_string()),
            Outcome::Paused { .. } => self.creating(view),
            Outcome::GivenUp(fatal) => self.failed(view, fatal.clone()),
            Outcome::Prepared(stored) => {
                self.creating(view);
                // An attempt is prepared after a look that found nothing of the one before.
                self.instance_exists = (!view.had_instance()).then(not_created);
                self.stored = Some(stored.clone());
            }
            Outcome::NotCreated(error) => {
                let hopeless = error.class == ErrorClass::InvalidConfiguration
                    && error.effect != Effect::Unclear;
                if hopeless {
                    self.failed(view, Fatal::InvalidConfiguration(error.message.clone()));
                } else {
                    self.creating(view);
                    if let Some(doubt) = doubt(view, error) {
                        self.instance_exists = Some(doubt);
                    }
                }
            }
            Outcome::Seen(instance) | Outcome::Repaired(instance) => self.seen(view, instance, now),
            Outcome::NotRepaired(_) => {
                if let Sighting::Present(instance) = &view.sighting {
                    self.seen(view, instance, now);
                }
            }
            Outcome::Drained(verdict, done) => {
                if let Some(drained) = &view.drain {
                    let told = drain::report(drained, verdict, done, now);
                    self.drain_step = Some(told.step);
                    self.drained = told.condition;
                    self.drain_events = told.events;
                }
                self.untouched(view);
            }
            Outcome::AwaitingHooks => self.untouched(view),
            Outcome::Left(Leave::Failed)
            | Outcome::NotTerminated(_)
            | Outcome::Terminating(Deletion::UnderWay(_)) => {}
            Outcome::NothingLeft | Outcome::Terminating(Deletion::Gone) => {
                self.instance_exists = Some(Condition::no(
                    CONDITION_INSTANCE_EXISTS,
                    SEVERITY_INFO,
                    REASON_INSTANCE_GONE,
                    "nothing of it is left in the cloud",
                ));
            }
        }
    }

    /// Whether nothing is to be said but that it is kept off.
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some_and(|paused| paused != Paused::No)
    }

    fn kept_off(&mut self, view: &View, paused: Paused) {
        self.paused = Some(paused);
        self.phase = view.machine.status.phase;
    }

    /// Nobody can be asked about its instance. That nothing was ever made for it is known all the same.
    fn not_asked(&mut self, view: &View, why: &str) {
        if view.is_untouched() {
            self.instance_exists = Some(not_created());
        } else if !view.is_gone() {
            let reason = REASON_ERROR_CHECKING_PROVIDER;
            self.instance_exists = Some(Condition::unknown(CONDITION_INSTANCE_EXISTS, reason, why));
        }
    }

    /// A phase alone would look as if somebody else had begun: that nothing was ever asked for is said with it, so that no cloud is needed later.
    fn untouched(&mut self, view: &View) {
        if view.is_untouched() {
            self.instance_exists = Some(not_created());
        }
    }

    /// Its instance is to be made. If one may have been made before, whether it exists stays what was last known.
    fn creating(&mut self, view: &View) {
        if view.machine.meta.deleting {
            return;
        }
        self.phase = self.phase.or(Some(Phase::Provisioning));
        if is_not_created(view) {
            self.instance_exists = Some(not_created());
        }
    }

    fn failed(&mut self, view: &View, fatal: Fatal) {
        self.phase = Some(Phase::Failed);
        self.instance_exists = match &fatal {
            Fatal::Vanished(_) => Some(Condition::no(
                CONDITION_INSTANCE_EXISTS,
                SEVERITY_WARNING,
                REASON_INSTANCE_MISSING,
                fatal.to_string(),
            )),
            Fatal::InvalidConfiguration(_) if is_not_created(view) => Some(not_created()),
            Fatal::NotCreatedInTime(_) if view.is_untouched() => Some(not_created()),
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

    /// How long until its creation has taken too long, by anybody's measure; `None` where that does not matter (any more).
    pub(super) fn time_left(&self, view: &View, now: Timestamp) -> Option<Duration> {
        let coming = matches!(self.phase, None | Some(Phase::Provisioning | Phase::Provisioned));
        let age = Duration::try_from(now.duration_since(view.machine.created)).unwrap_or_default();
        let own = view.own_creation_limit().and_then(|(limit, _)| limit.try_into().ok());
        let limits = [Some(view.rules.timings.creation), own].into_iter().flatten();
        let left = limits.filter_map(|limit: Duration| limit.checked_sub(age));
        left.filter(|left| coming && !left.is_zero()).min()
    }
}

/// Whether a Node is expected to be linked any moment: its instance runs, and nothing was said since that was prepared. What would be said
/// now is out of date at once, and a write is saved; if nobody links the two, it is said a little later.
fn is_joining(view: &View, instance: &Instance, now: Timestamp) -> bool {
    let poll = view.rules.timings.poll;
    let patience = if view.node.is_some() { poll } else { poll / 4 };
    let quiet = view.machine.status.last_updated.map(|last| now.duration_since(last));
    let quiet = quiet.and_then(|time| Duration::try_from(time).ok());
    instance.state == InstanceState::Running
        && view.machine.status.phase == Some(Phase::Provisioning)
        && quiet.is_some_and(|time| time < patience)
}

/// Whether no attempt is stored, so that nothing was asked of a cloud that could have made an instance, or one was looked for in vain.
fn is_not_created(view: &View) -> bool {
    let looked_for = matches!(view.sighting, Sighting::Absent);
    !view.had_instance() && (view.attempt().is_none() || looked_for)
}

/// What a call that did not make an instance leaves open about whether there is one; `None` where it says nothing about that.
fn doubt(view: &View, error: &CloudError) -> Option<Condition> {
    if view.had_instance() {
        return None;
    }
    let text = match error.effect {
        // Nothing about calls before it, whose answers may have been lost.
        Effect::None => return None,
        // Nothing was made where there is no room.
        Effect::NoneForThisAttempt if error.class == ErrorClass::CapacityExhausted => return None,
        // Maybe because an earlier call has used it up.
        Effect::NoneForThisAttempt => "this attempt is over, and what has come of it is looked for",
        Effect::Unclear => "it was asked for, and the answer is not clear",
    };
    let reason = REASON_ERROR_CHECKING_PROVIDER;
    Some(Condition::unknown(CONDITION_INSTANCE_EXISTS, reason, text))
}

fn not_created() -> Condition {
    let (kind, reason) = (CONDITION_INSTANCE_EXISTS, REASON_INSTANCE_NOT_CREATED);
    Condition::no(kind, SEVERITY_WARNING, reason, TEXT_NOT_CREATED)
}

/// What a provider stored of the state of an instance that nobody looks at any more, as OpenShift words it.
fn without_state(stored: &ProviderStatus) -> Option<ProviderStatus> {
    let mut changed = stored.clone();
    for name in ["instanceState", "vmState"] {
        if let Some(state) = changed.0.get_mut(name) {
            *state = machinist_api::names::INSTANCE_STATE_UNKNOWN.into();
        }
    }
    (changed != *stored).then_some(changed)
}
