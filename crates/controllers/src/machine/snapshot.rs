//! What was observed of one machine, its instance and its Node.

use std::sync::Arc;
use std::time::Duration;

use crate::drain::Step;
use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_CREATION_TIMEOUT, CONDITION_DRAINED, CONDITION_INSTANCE_EXISTS, CONDITION_READY,
    REASON_INSTANCE_NOT_CREATED,
};
use machinist_domain::conditions::{Condition, Status};
use machinist_domain::machine::{MachineAuthority, Phase};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::cloud::{MachineRef, ProviderStatus, Sighting};
use machinist_provider::spec::SpecError;

use super::error::Refusal;
use crate::drain;
use crate::kinds::{Machine, Node};
use crate::served::{Field, authority};

/// The reason of `InstanceExists=False` when everything that a machine had in the cloud is gone. Only a machine that is being deleted says so.
pub const REASON_INSTANCE_GONE: &str = "InstanceGone";

/// How we say that no instance was created. Another controller has the same reason, and other words.
pub(super) const TEXT_NOT_CREATED: &str = "no instance was created yet";

/// A call that changes the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Prepares and creates an instance.
    Create,
    /// Repairs drift.
    Update,
    /// Deletes an instance.
    Delete,
}

impl Call {
    /// The verb in audit lines and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// It may.
    Open,
    /// Its failure domain pauses.
    Closed {
        /// The rest of the pause.
        wait: Duration,
        /// The refusal that closed the domain.
        why: Failure,
    },
}

/// One machine.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Identity and version, known even if nothing else is.
    pub meta: Meta,
    /// What is known.
    pub content: Content,
}

/// What is known of a machine.
#[derive(Debug, Clone)]
pub enum Content {
    /// It can be read.
    Read(Box<View>),
    /// It cannot be decoded, for this reason.
    Undecodable(String),
}

/// A machine that can be read, and what surrounds it.
#[derive(Debug, Clone)]
pub struct View {
    /// The machine.
    pub machine: Arc<Machine>,
    /// What its provider stored on it.
    pub stored: ProviderStatus,
    /// How to ask a cloud about it; `None` where none needs to be asked.
    pub reach: Option<Result<MachineRef, Refusal>>,
    /// What is known of its instance.
    pub sighting: Sighting,
    /// The attempt of which the cloud said that nothing will ever come of it.
    pub refused_attempt: Option<u32>,
    /// Whether the cloud may be asked to do something for it.
    pub gate: Gate,
    /// Its Node: the one that it names, or one that runs on its instance.
    pub node: Option<Arc<Node>>,
    /// Why what differs in its instance could not be repaired the last time.
    pub unrepaired: Option<Unrepaired>,
    /// What a drain looks at, while it is being deleted and not drained.
    pub drain: Option<Box<drain::View>>,
    /// What holds for all machines.
    pub rules: Rules,
}

/// A repair that did not help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrepaired {
    /// How long it is not tried again.
    pub wait: Duration,
    /// Why it did not help.
    pub why: Arc<str>,
}

/// What holds for all machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Whether to keep off machines that another machine API is in charge of.
    pub obey_migration: bool,
    /// Whether the served schema has `failureReason` and `failureMessage`. They are not worth a write of their own to find out.
    pub failure_fields: Field,
    /// Whether it has `status.authoritativeAPI`.
    pub authority_field: Field,
    /// How long things may take.
    pub timings: MachineTimings,
}

impl View {
    /// The attempt whose values are stored.
    pub fn attempt(&self) -> Option<u32> {
        self.stored.attempt()
    }

    /// Who is in charge of it.
    pub fn authority(&self) -> MachineAuthority {
        let machine = &self.machine;
        if !self.rules.obey_migration {
            return MachineAuthority::MachineApi;
        }
        authority(machine.status.authority, machine.wanted_authority, self.rules.authority_field)
    }

    /// Whether the Node is drained, or needs no draining.
    pub fn is_drained(&self) -> bool {
        self.machine.condition(CONDITION_DRAINED).is_some_and(Condition::is_true)
    }

    /// Whether the cloud has said that nothing is left, and that was stored.
    pub fn is_gone(&self) -> bool {
        self.instance_exists(&Status::False, REASON_INSTANCE_GONE)
    }

    /// Whether it has, or had, an instance.
    pub fn had_instance(&self) -> bool {
        let machine = &self.machine;
        let exists = machine.condition(CONDITION_INSTANCE_EXISTS);
        machine.provider_id.is_some()
            || !machine.status.addresses.is_empty()
            || exists.is_some_and(Condition::is_true)
    }

    /// Whether certainly nothing was ever asked of a cloud for it.
    ///
    /// Values are stored before anything is created, so nothing stored means nothing created, by us. Another controller, which stores none, may
    /// have begun: it leaves a phase, and what is said about the instance is not in our words.
    pub fn is_untouched(&self) -> bool {
        let machine = &self.machine;
        let exists = machine.condition(CONDITION_INSTANCE_EXISTS);
        let ours = machine.condition(CONDITION_READY).is_some()
            && self.instance_exists(&Status::False, REASON_INSTANCE_NOT_CREATED)
            && exists.and_then(|said| said.message.as_deref()) == Some(TEXT_NOT_CREATED);
        self.stored.is_empty()
            && !self.had_instance()
            && machine.status.node_ref.is_none()
            && (machine.status.phase.is_none() || ours)
    }

    /// Whether the cloud has to be asked about the instance before anything is decided.
    pub fn must_look(&self) -> bool {
        if self.machine.meta.deleting {
            return self.may_have_an_unknown_instance();
        }
        match self.attempt() {
            _ if self.had_instance() => true,
            None => !self.is_untouched(),
            attempt => attempt == self.refused_attempt,
        }
    }

    /// Whether an instance may have been made that it does not name: the creation was not answered. Nobody could tell its Node.
    pub fn may_have_an_unknown_instance(&self) -> bool {
        self.attempt().is_some() && self.machine.provider_id.is_none()
    }

    /// Whether nobody knows what came of asking for an instance.
    pub fn has_lost_an_answer(&self) -> bool {
        let exists = self.machine.condition(CONDITION_INSTANCE_EXISTS);
        let unknown = exists.is_some_and(|condition| condition.status == Status::Unknown);
        unknown && self.attempt().is_some() && !self.had_instance()
    }

    /// Whether that instance is being waited for before it goes.
    pub fn awaits_an_unknown_instance(&self) -> bool {
        self.machine.meta.deleting && !self.is_gone() && self.may_have_an_unknown_instance()
    }

    /// Whether nothing but a Node can be left of it, and one of which this process has not heard: nobody has linked it, or somebody else has and
    /// no drain has looked for it.
    pub fn may_have_late_node(&self) -> bool {
        let machine = &self.machine;
        let going = machine.meta.deleting && machine.has_finalizer() && self.is_gone();
        let drained = machine.condition(CONDITION_DRAINED);
        let unseen =
            drained.and_then(|said| said.reason.as_deref()) == Some(Step::Skipped.as_str());
        let linked = machine.status.node_ref.is_some();
        let expected = if linked { unseen } else { machine.provider_id.is_some() };
        going && self.node.is_none() && expected
    }

    /// What is to be asked of a cloud next, if anything is.
    pub fn next_call(&self) -> Call {
        if self.machine.meta.deleting {
            Call::Delete
        } else if self.had_instance() {
            Call::Update
        } else {
            Call::Create
        }
    }

    /// Where its instance is asked for next, if that is known. An attempt that is yet to be prepared may go anywhere: whatever is full where the
    /// last one was refused does not hold it up.
    pub fn next_place(&self) -> Option<String> {
        let is_over = self.attempt() == self.refused_attempt;
        if is_over { None } else { self.stored.place() }
    }

    /// Whether there is nothing to ask a cloud for when it is deleted. A spec of a kind that nobody here reads may be somebody else's, and one
    /// that cannot be read now may have been better when an instance was made: whoever made it has stored something.
    pub fn has_nothing_to_remove(&self) -> bool {
        let shape = self.machine.shape();
        let unreadable = matches!(shape, Err(SpecError::Missing | SpecError::Invalid { .. }));
        let nothing_known = self.stored.is_empty()
            && !self.had_instance()
            && self.machine.status.node_ref.is_none();
        self.is_untouched() || (unreadable && nothing_known)
    }

    /// Whether a cloud has a part in what is to be decided next.
    pub fn needs_cloud(&self) -> bool {
        let machine = &self.machine;
        let elsewhere = self.authority() != MachineAuthority::MachineApi;
        if elsewhere || !machine.has_finalizer() {
            return false;
        }
        if !machine.meta.deleting {
            return machine.status.phase != Some(Phase::Failed);
        }
        let held = !self.is_drained() || !machine.hooks.pre_terminate.is_empty();
        !held && !self.is_gone() && !self.has_nothing_to_remove()
    }

    /// Whether it says which cluster it belongs to.
    pub fn has_cluster_label(&self) -> bool {
        self.machine.cluster_label().is_some()
    }

    /// Whether it is still being created: it was never running.
    pub fn is_coming(&self) -> bool {
        let phase = self.machine.status.phase;
        matches!(phase, None | Some(Phase::Provisioning | Phase::Provisioned))
    }

    /// How long its creation may take before it fails for good, as it says itself, and in its words.
    pub fn own_creation_limit(&self) -> Option<(SignedDuration, &str)> {
        let text = self.machine.annotations.get(ANNOTATION_CREATION_TIMEOUT)?;
        Some((text.parse().ok()?, text))
    }

    /// When the instance was first seen, or if it was not, when the machine was created.
    pub fn seen_since(&self) -> Timestamp {
        let exists = self.machine.condition(CONDITION_INSTANCE_EXISTS);
        let seen = exists.filter(|condition| condition.is_true());
        seen.and_then(|condition| condition.last_transition).unwrap_or(self.machine.created)
    }

    fn instance_exists(&self, status: &Status, reason: &str) -> bool {
        let condition = self.machine.condition(CONDITION_INSTANCE_EXISTS);
        condition.is_some_and(|condition| {
            condition.status == *status && condition.reason.as_deref() == Some(reason)
        })
    }
}
