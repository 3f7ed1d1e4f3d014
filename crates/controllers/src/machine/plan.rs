use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::cloud::{CloudError, Deletion, Instance, ProviderStatus};
use serde_json::Value;

use super::error::{Fatal, Refusal};
use super::in_place;
use super::snapshot::{Call, Pause};
use crate::drain;

/// What to do about one Machine: at most one effect, whose result the next reconcile sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    NoOp(Reason),
    SetAuthority(MachineAuthority),
    AddFinalizer,
    AwaitCloud,
    /// Requeue: the observed state may still change within this time.
    Wait(Duration),
    Refuse(Refusal),
    Pause(Pause),
    Fail(Fatal),
    /// Resolve what the instance needs, and store it as the launch of this attempt.
    Prepare {
        attempt: u32,
    },
    Create {
        attempt: u32,
    },
    /// Patch provider ID, labels and annotations of the Machine.
    Record(Value),
    Repair(String),
    UpdateStatus(Arc<Instance>),
    InPlace(in_place::Step),
    Drain(drain::Plan),
    /// Store the end of a preservation, which begins by that.
    Preserve(Timestamp),
    /// Remove the stored end.
    EndPreservation,
    /// Patch annotations and taints that the Node of a preserved Machine has, or has no more.
    MarkNode {
        node: Meta,
        patch: Value,
    },
    /// Drain the Node of a preserved Machine that has failed; `rest` is what to report apart from that.
    DrainPreserved {
        drain: drain::Plan,
        rest: Box<Plan>,
    },
    AwaitHooks,
    NothingToRemove,
    Terminate,
    RemoveNode(Meta),
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    Undecodable(String),
    ManagedElsewhere,
    UnknownAuthority,
    Failed,
    Deleting,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOp(Reason::Undecodable(error)) => {
                write!(f, "no-op: cannot be decoded: {error}")
            }
            Self::NoOp(Reason::ManagedElsewhere) => f.write_str("no-op: managed elsewhere"),
            Self::NoOp(Reason::UnknownAuthority) => {
                f.write_str("no-op: authoritativeAPI has an unknown value")
            }
            Self::NoOp(Reason::Failed) => f.write_str("no-op: the phase is Failed"),
            Self::NoOp(Reason::Deleting) => f.write_str("no-op: deletion in progress"),
            Self::SetAuthority(authority) => {
                write!(f, "set authoritativeAPI to {}", authority.as_str().unwrap_or_default())
            }
            Self::AddFinalizer => f.write_str("add the finalizer"),
            Self::AwaitCloud => f.write_str("wait: the cloud is being queried"),
            Self::Wait(time) => write!(f, "wait {time:?}: the observed state may still change"),
            Self::Refuse(refusal) => write!(f, "blocked: {refusal}"),
            Self::Pause(Pause { wait, why }) => write!(f, "wait {wait:?}: {}", why.message),
            Self::Fail(fatal) => write!(f, "set phase Failed: {fatal}"),
            Self::Prepare { attempt } => write!(f, "store the launch of attempt {attempt}"),
            Self::Create { attempt } => write!(f, "create the instance, attempt {attempt}"),
            Self::Record(patch) => write!(f, "patch the Machine: {patch}"),
            Self::Repair(drift) => write!(f, "update the instance: {drift}"),
            Self::UpdateStatus(instance) => {
                let (id, state) = (&instance.id, &instance.state_text);
                write!(f, "update status: instance {id} is {state}")
            }
            Self::InPlace(step) => step.fmt(f),
            Self::Drain(plan) => plan.fmt(f),
            Self::Preserve(until) => write!(f, "keep the Machine for debugging until {until}"),
            Self::EndPreservation => f.write_str("keep the Machine for debugging no longer"),
            Self::MarkNode { node, patch } => write!(f, "patch node {}: {patch}", node.key),
            Self::DrainPreserved { drain, rest } => write!(f, "{drain} (preserved); {rest}"),
            Self::AwaitHooks => f.write_str("wait for preTerminate hooks"),
            Self::NothingToRemove => f.write_str("update status: nothing to delete in the cloud"),
            Self::Terminate => f.write_str("delete the instance"),
            Self::RemoveNode(node) => write!(f, "delete node {}", node.key),
            Self::Release => f.write_str("remove the finalizer: the instance is deleted"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The plan was carried out, or has no effect to carry out.
    Done,
    DryRun,
    Paused(Pause),
    Prepared(ProviderStatus),
    Created(Arc<Instance>),
    Repaired(Arc<Instance>),
    Drained(drain::Outcome),
    Terminating(Deletion),
    CallFailed(Call, CloudError),
    Failed(Failure),
}
