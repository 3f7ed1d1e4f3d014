use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_CREATION_TIMEOUT, CONDITION_DRAINED, CONDITION_INSTANCE_EXISTS, STATUS_FALSE,
    STATUS_UNKNOWN,
};
use machinist_domain::conditions::Condition;
use machinist_domain::machine::{MachineAuthority, Phase};
use machinist_domain::machine_timings::{MachineLimits, MachineTimings};
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_domain::safety::EffectKind;
use machinist_provider::cloud::{MachineRef, ObservedInstance, ProviderStatus};
use machinist_provider::spec::SpecError;

use super::error::Refusal;
use super::unmarked::Unmarked;
use crate::drain::{self, Step};
use crate::kinds::{Machine, Node};
use crate::served::{Field, authority};

/// Reason of `InstanceExists=False`: everything that a deleted Machine had in the cloud is gone.
pub(super) const REASON_INSTANCE_GONE: &str = "InstanceGone";

/// Reason of `InstanceExists=False`: no launch is stored, so this controller has requested nothing. Other controllers
/// overwrite it (with `InstanceNotCreated`) before they create an instance.
pub(super) const REASON_INSTANCE_NOT_REQUESTED: &str = "InstanceNotRequested";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    Create,
    Update,
    Delete,
}

impl Call {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    /// What it is to freezes.
    pub fn effect(self) -> EffectKind {
        match self {
            Self::Create => EffectKind::CloudCreate,
            Self::Update => EffectKind::Change,
            Self::Delete => EffectKind::CloudDelete,
        }
    }
}

/// The pause of a failure domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub wait: Duration,
    pub why: Failure,
}

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub meta: Meta,
    /// The rest, or why it cannot be decoded.
    pub view: Result<Box<View>, String>,
}

#[derive(Debug, Clone)]
pub struct View {
    pub machine: Arc<Machine>,
    pub stored: ProviderStatus,
    /// The reference for cloud calls; `None` if no call is needed.
    pub reach: Option<Result<MachineRef, Refusal>>,
    pub observed: ObservedInstance,
    /// The attempt that the cloud refused for good.
    pub refused_attempt: Option<u32>,
    /// Set while the next cloud call must not be made.
    pub pause: Option<Pause>,
    /// The Node of `status.nodeRef`, or the one with its provider ID.
    pub node: Option<Arc<Node>>,
    pub unrepaired: Option<Unrepaired>,
    /// Set while its Node is left as it is, because marks on it were refused.
    pub unmarked: Option<Unmarked>,
    pub drain: Option<Box<drain::View>>,
    pub rules: Rules,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrepaired {
    pub wait: Duration,
    pub why: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub obey_migration: bool,
    pub failure_fields: Field,
    pub authority_field: Field,
    pub timings: MachineTimings,
    pub limits: MachineLimits,
}

impl View {
    pub fn attempt(&self) -> Option<u32> {
        self.stored.attempt()
    }

    pub fn authority(&self) -> MachineAuthority {
        let machine = &self.machine;
        if !self.rules.obey_migration {
            return MachineAuthority::MachineApi;
        }
        authority(machine.status.authority, machine.wanted_authority, self.rules.authority_field)
    }

    pub fn is_drained(&self) -> bool {
        self.machine.condition(CONDITION_DRAINED).is_some_and(Condition::is_true)
    }

    /// Whether it is stored that nothing is left in the cloud.
    pub fn is_gone(&self) -> bool {
        self.instance_exists(STATUS_FALSE, REASON_INSTANCE_GONE)
    }

    pub fn had_instance(&self) -> bool {
        let machine = &self.machine;
        let exists = machine.condition(CONDITION_INSTANCE_EXISTS);
        machine.provider_id.is_some()
            || !machine.status.addresses.is_empty()
            || exists.is_some_and(Condition::is_true)
    }

    /// Whether nothing was ever requested from a cloud for it. This controller stores the launch before it creates an
    /// instance. Another one stores none, but sets a phase and overwrites `InstanceExists`.
    pub fn is_untouched(&self) -> bool {
        let machine = &self.machine;
        self.stored.is_empty()
            && !self.had_instance()
            && machine.status.node_ref.is_none()
            && (machine.status.phase.is_none()
                || self.instance_exists(STATUS_FALSE, REASON_INSTANCE_NOT_REQUESTED))
    }

    /// Whether the state of the instance is needed to decide.
    pub fn must_look(&self) -> bool {
        if self.machine.meta.deleting {
            return self.may_have_unrecorded_instance();
        }
        match self.attempt() {
            _ if self.had_instance() => true,
            None => !self.is_untouched(),
            attempt => attempt == self.refused_attempt,
        }
    }

    /// Whether an instance may exist whose id is not recorded, because the create request was not answered.
    pub fn may_have_unrecorded_instance(&self) -> bool {
        self.attempt().is_some() && self.machine.provider_id.is_none()
    }

    /// Whether a create request was not answered and its instance was not found yet.
    pub fn has_unanswered_create(&self) -> bool {
        let exists = self.machine.condition(CONDITION_INSTANCE_EXISTS);
        let unknown = exists.is_some_and(|condition| condition.status == STATUS_UNKNOWN);
        unknown && self.attempt().is_some() && !self.had_instance()
    }

    /// Whether the deletion waits for such an instance.
    pub fn awaits_unrecorded_instance(&self) -> bool {
        self.machine.meta.deleting && !self.is_gone() && self.may_have_unrecorded_instance()
    }

    /// Whether only a Node can be left, and it may not be in the cache yet: it was never linked, or linked by another
    /// controller and no drain has read it.
    pub fn may_have_late_node(&self) -> bool {
        let machine = &self.machine;
        let going = machine.meta.deleting && machine.has_finalizer() && self.is_gone();
        let drained = machine.condition(CONDITION_DRAINED);
        let unseen = drained.and_then(|condition| condition.reason.as_deref())
            == Some(Step::Skipped.as_str());
        let linked = machine.status.node_ref.is_some();
        let expected = if linked { unseen } else { machine.provider_id.is_some() };
        going && self.node.is_none() && expected
    }

    pub fn next_call(&self) -> Call {
        if self.machine.meta.deleting {
            Call::Delete
        } else if self.had_instance() {
            Call::Update
        } else {
            Call::Create
        }
    }

    /// The place of the next create call, if it is known. A new attempt may go anywhere.
    pub fn next_place(&self) -> Option<String> {
        let is_over = self.attempt() == self.refused_attempt;
        if is_over { None } else { self.stored.place() }
    }

    /// A spec that cannot be read now may have been valid when an instance was created, but then something is stored.
    /// A spec of another kind may belong to another controller.
    pub fn has_nothing_to_remove(&self) -> bool {
        let shape = self.machine.shape();
        let unreadable = matches!(shape, Err(SpecError::Missing | SpecError::Invalid { .. }));
        let nothing_known = self.stored.is_empty()
            && !self.had_instance()
            && self.machine.status.node_ref.is_none();
        self.is_untouched() || (unreadable && nothing_known)
    }

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

    pub fn is_provisioning(&self) -> bool {
        let phase = self.machine.status.phase;
        matches!(phase, None | Some(Phase::Provisioning | Phase::Provisioned))
    }

    /// Whether the creation takes longer than it should.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        let age = Duration::try_from(now.duration_since(self.machine.created)).unwrap_or_default();
        let over = age >= self.rules.timings.creation && !age.is_zero();
        over && !self.machine.meta.deleting && self.is_provisioning()
    }

    pub fn own_creation_limit(&self) -> Option<(SignedDuration, &str)> {
        let text = self.machine.annotations.get(ANNOTATION_CREATION_TIMEOUT)?;
        Some((text.parse().ok()?, text))
    }

    /// When the instance was first observed; the creation of the Machine before that.
    pub fn seen_since(&self) -> Timestamp {
        let exists = self.machine.condition(CONDITION_INSTANCE_EXISTS);
        let seen = exists.filter(|condition| condition.is_true());
        seen.and_then(|condition| condition.last_transition).unwrap_or(self.machine.created)
    }

    fn instance_exists(&self, status: &str, reason: &str) -> bool {
        let condition = self.machine.condition(CONDITION_INSTANCE_EXISTS);
        condition.is_some_and(|condition| {
            condition.status == status && condition.reason.as_deref() == Some(reason)
        })
    }
}
