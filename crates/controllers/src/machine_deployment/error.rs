use std::fmt;

use machinist_domain::key::ObjectKey;

use super::messages;
use super::template::Change;
use crate::machine_set::selector::SelectorError;

/// What is invalid about a MachineDeployment. Nothing is done until it is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Undecodable(String),
    Selector(SelectorError),
    /// The selector does not match the template, so the deployment would not own its MachineSets.
    SelectorMismatch {
        selector: String,
    },
    /// The annotation in the template that marks Machines for deletion.
    MarkedTemplate(&'static str),
    Replicas(i32),
    Strategy(String),
    /// The field and its value.
    Limit(&'static str, String),
    /// The value of `spec.remediation.maxInFlight`.
    MaxInFlight(String),
    /// A field of a guarded rollout, and its value.
    Guard(GuardField, String),
    /// `canary` or `abort` with the strategy Recreate.
    GuardedRecreate(&'static str),
    /// maxSurge and maxUnavailable of this strategy are both zero, so no Machine could be replaced.
    NoRoom(&'static str),
    /// The orchestration of an update in place.
    Orchestration(String),
    /// What of the template cannot change in place.
    NeedsInstance(Vec<Change>),
    /// `spec.template.spec` is no object.
    Template(String),
    Overlap(ObjectKey),
    /// One of its MachineSets cannot be decoded.
    UndecodableSet(ObjectKey),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardField {
    CanaryReplicas,
    SoakSeconds,
    FailedMachines,
    ReadyTimeoutSeconds,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&messages::refusal(self))
    }
}
