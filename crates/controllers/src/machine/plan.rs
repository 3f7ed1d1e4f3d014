//! The plan for a Machine and its outcome, as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::machine::MachineAuthority;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::cloud::{CloudError, Deletion, Instance, ProviderStatus};
use serde_json::Value;

use super::error::{Fatal, Refusal};
use crate::drain;

/// What to do about one Machine: at most one effect, whose result the next reconcile sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Nothing.
    NoOp(Reason),
    /// Write `status.authoritativeAPI`.
    SetAuthority(MachineAuthority),
    /// Add the finalizer.
    AddFinalizer,
    /// Wait for the state of the instance; the cloud is being queried.
    AwaitCloud,
    /// Requeue: the observed state may still change within this time.
    Wait(Duration),
    /// Report what prevents progress.
    Refuse(Refusal),
    /// Wait for the pause of a failure domain to end.
    Pause {
        /// The rest of the pause.
        wait: Duration,
        /// The refusal that closed the domain.
        why: Failure,
    },
    /// Set the phase Failed.
    Fail(Fatal),
    /// Resolve what the instance needs, and store it as the launch of this attempt.
    Prepare {
        /// The number of the attempt.
        attempt: u32,
    },
    /// Create the instance.
    Create {
        /// The number of the attempt.
        attempt: u32,
    },
    /// Patch provider ID, labels and annotations of the Machine.
    Record(Value),
    /// Update the instance, which differs from its spec.
    Repair(String),
    /// Update the status from the instance.
    UpdateStatus(Arc<Instance>),
    /// Take the next step of the drain.
    Drain(drain::Plan),
    /// Wait for preTerminate hooks.
    AwaitHooks,
    /// Report that there is nothing to delete in the cloud.
    NothingToRemove,
    /// Delete the instance and what was created with it.
    Terminate,
    /// Delete the Node.
    RemoveNode(Meta),
    /// Remove the finalizer.
    Release,
}

/// Why there is nothing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The Machine cannot be decoded.
    Undecodable(String),
    /// Another machine API manages it.
    ManagedElsewhere,
    /// `authoritativeAPI` has an unknown value.
    UnknownAuthority,
    /// Its phase is Failed.
    Failed,
    /// It is being deleted and does not have the finalizer.
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
            Self::Pause { wait, why } => write!(f, "wait {wait:?}: {}", why.message),
            Self::Fail(fatal) => write!(f, "set phase Failed: {fatal}"),
            Self::Prepare { attempt } => write!(f, "store the launch of attempt {attempt}"),
            Self::Create { attempt } => write!(f, "create the instance, attempt {attempt}"),
            Self::Record(patch) => write!(f, "patch the Machine: {patch}"),
            Self::Repair(drift) => write!(f, "update the instance: {drift}"),
            Self::UpdateStatus(instance) => {
                let (id, state) = (&instance.id, &instance.state_text);
                write!(f, "update status: instance {id} is {state}")
            }
            Self::Drain(plan) => plan.fmt(f),
            Self::AwaitHooks => f.write_str("wait for preTerminate hooks"),
            Self::NothingToRemove => f.write_str("update status: nothing to delete in the cloud"),
            Self::Terminate => f.write_str("delete the instance"),
            Self::RemoveNode(node) => write!(f, "delete node {}", node.key),
            Self::Release => f.write_str("remove the finalizer: the instance is deleted"),
        }
    }
}

/// The outcome of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The plan was carried out, or has no effect to carry out.
    Done,
    /// Dry run: nothing was written.
    DryRun,
    /// The failure domain was closed before the call.
    Paused {
        /// The rest of the pause.
        wait: Duration,
        /// The refusal that closed the domain.
        why: Failure,
    },
    /// The launch was stored.
    Prepared(ProviderStatus),
    /// The instance was created.
    Created(Arc<Instance>),
    /// It could not be prepared or created.
    NotCreated(CloudError),
    /// The instance was updated.
    Repaired(Arc<Instance>),
    /// It could not be updated.
    NotRepaired(CloudError),
    /// A step of the drain was taken.
    Drained(drain::Outcome),
    /// The deletion of the instance has come this far.
    Terminating(Deletion),
    /// It could not be deleted.
    NotTerminated(CloudError),
    /// A write to the Kubernetes API failed.
    Failed(Failure),
}

impl Outcome {
    /// The cloud call that failed, and its error.
    pub fn cloud_error(&self) -> Option<(&'static str, &CloudError)> {
        match self {
            Self::NotCreated(error) => Some(("create", error)),
            Self::NotRepaired(error) => Some(("update", error)),
            Self::NotTerminated(error) => Some(("delete", error)),
            _ => None,
        }
    }
}
