//! What to do about a machine, and what came of it, as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::cloud::{CloudError, Deletion, Instance, ProviderStatus};
use serde_json::Value;

use super::error::{Fatal, Refusal};
use crate::drain;

/// What to do about one machine. At most one effect: the next pass sees what came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Nothing.
    Leave(Leave),
    /// Say which machine API is in charge, as the spec wants it.
    SettleAuthority,
    /// Make sure that it stays until its instance is gone.
    AddFinalizer,
    /// Nothing yet: the cloud is being asked about the instance.
    Look,
    /// Nothing yet: what was seen may still change within this time.
    Wait(Duration),
    /// Nothing: this is in the way.
    Refuse(Refusal),
    /// Nothing yet: machines like this one pause together.
    Pause {
        /// How long, at least.
        wait: Duration,
        /// Why.
        why: Failure,
    },
    /// Give it up.
    Fail(Fatal),
    /// Find out what creating the instance needs, and store it.
    Prepare {
        /// For which attempt.
        attempt: u32,
    },
    /// Create the instance.
    Create {
        /// Which attempt this is.
        attempt: u32,
    },
    /// Write down on the object what the instance is.
    Record(Value),
    /// Repair what differs in the cloud.
    Repair(String),
    /// Say how the instance is, which may need no write.
    Tell(Arc<Instance>),
    /// Take the next step of the drain.
    Drain(drain::Plan),
    /// Nothing: somebody wants to be asked before the instance goes.
    AwaitHooks,
    /// Nothing was ever made for it: say that nothing is left.
    NothingToRemove,
    /// Remove the instance and what came with it.
    Terminate,
    /// Delete the Node, whose instance is gone.
    RemoveNode(Meta),
    /// Let the object go.
    Release,
}

/// Why nothing is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leave {
    /// It cannot be decoded.
    Undecodable(String),
    /// Another machine API is in charge of it.
    Elsewhere,
    /// Who is in charge of it is a word that nobody knows.
    UnknownAuthority,
    /// It failed for good.
    Failed,
    /// It is going, and nobody holds it.
    Going,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leave(Leave::Undecodable(error)) => {
                write!(f, "leave it: cannot be decoded: {error}")
            }
            Self::Leave(Leave::Elsewhere) => {
                f.write_str("leave it: another machine API is in charge of it")
            }
            Self::Leave(Leave::UnknownAuthority) => {
                f.write_str("leave it: nobody knows who is in charge of it")
            }
            Self::Leave(Leave::Failed) => f.write_str("leave it: it failed for good"),
            Self::Leave(Leave::Going) => f.write_str("leave it: it is going by itself"),
            Self::SettleAuthority => f.write_str("say which machine API is in charge of it"),
            Self::AddFinalizer => f.write_str("add the finalizer"),
            Self::Look => f.write_str("leave it: the cloud is being asked"),
            Self::Wait(time) => write!(f, "leave it for {time:?}: what was seen may be too early"),
            Self::Refuse(refusal) => write!(f, "leave it: {refusal}"),
            Self::Pause { wait, why } => write!(f, "leave it for {wait:?}: {}", why.message),
            Self::Fail(fatal) => write!(f, "give it up: {fatal}"),
            Self::Prepare { attempt } => {
                write!(f, "prepare attempt {attempt} to create its instance")
            }
            Self::Create { attempt } => write!(f, "create its instance, attempt {attempt}"),
            Self::Record(patch) => write!(f, "record what its instance is: {patch}"),
            Self::Repair(drift) => write!(f, "repair its instance: {drift}"),
            Self::Tell(instance) => {
                write!(f, "say that its instance {} is {}", instance.id, instance.state_text)
            }
            Self::Drain(verdict) => verdict.fmt(f),
            Self::AwaitHooks => f.write_str("leave it: preTerminate hooks are in the way"),
            Self::NothingToRemove => f.write_str("say that it has nothing in a cloud"),
            Self::Terminate => f.write_str("remove its instance"),
            Self::RemoveNode(node) => write!(f, "delete its node {}", node.key),
            Self::Release => f.write_str("let it go: its instance is gone"),
        }
    }
}

/// What came of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Nothing was done, for this reason.
    Left(Leave),
    /// The plan says it all: nothing was to be done, or what was to be done is done and the next pass goes on from there.
    Done,
    /// It is only a dry run: nothing was done, and nothing is to be told.
    DryRun,
    /// Which machine API is in charge is to be said.
    AuthoritySettled,
    /// The answer of the cloud is on its way.
    Looking,
    /// It is looked at again after this time.
    Waiting(Duration),
    /// This is in the way.
    Refused(Refusal),
    /// Machines like this one pause together.
    Paused {
        /// How long, at least.
        wait: Duration,
        /// Why.
        why: Failure,
    },
    /// It failed for good.
    GivenUp(Fatal),
    /// What creating needs, to be stored before anything is created.
    Prepared(ProviderStatus),
    /// The instance is there, or on its way.
    Created(Arc<Instance>),
    /// It could not be prepared or created.
    NotCreated(CloudError),
    /// How the instance is.
    Seen(Arc<Instance>),
    /// What differed was repaired.
    Repaired(Arc<Instance>),
    /// It could not be repaired.
    NotRepaired(CloudError),
    /// A step of the drain was taken.
    Drained(drain::Plan, drain::Outcome),
    /// Somebody wants to be asked before the instance goes.
    AwaitingHooks,
    /// How far the removal of the instance is.
    Terminating(Deletion),
    /// It has nothing in a cloud.
    NothingLeft,
    /// It could not be removed.
    NotTerminated(CloudError),
    /// A write to Kubernetes did not work.
    Failed(Failure),
}

impl Outcome {
    /// What a cloud was asked and did not do, and why.
    pub fn refusal(&self) -> Option<(&'static str, &CloudError)> {
        match self {
            Self::NotCreated(error) => Some(("create", error)),
            Self::NotRepaired(error) => Some(("update", error)),
            Self::NotTerminated(error) => Some(("delete", error)),
            _ => None,
        }
    }
}
