use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;

use super::error::Refusal;
use super::health::Health;
use super::snapshot::{NoLimit, Unavailable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    NoOp(Reason),
    Refuse(Refusal),
    /// The steps of the findings are executed.
    Assess(Assessment),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    Deleting,
    Undecodable(String),
    Paused,
}

/// What was found out about the selected Machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assessment {
    pub expected: usize,
    pub healthy: usize,
    /// `spec.maxUnhealthy` as a number of Machines.
    pub max_unhealthy: usize,
    /// Those that are not healthy, the longest unhealthy first.
    pub findings: Vec<Finding>,
    /// The annotation with the remediations, which is written before any Machine is deleted.
    pub record: Option<String>,
    /// Remediation objects of Machines that are healthy again.
    pub ended: Vec<Ended>,
}

/// A remediation object that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub machine: Meta,
    pub kind: String,
    pub request: Meta,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub meta: Meta,
    pub health: Health,
    pub step: Step,
}

/// What is done about a Machine that is not healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing until this time or a change.
    Wait(Option<Timestamp>),
    /// It is deleted.
    Remediate,
    /// A remediation object is created for it.
    Request,
    /// The annotation is set by which Metal3 remediates it.
    Annotate,
    /// A remediation object of this kind exists.
    Requested(String),
    /// It would be remediated now, but for this.
    Held(Hold),
}

/// Why an unhealthy Machine is not remediated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    TooManyUnhealthy,
    NoController,
    /// Another machine API manages it.
    ManagedElsewhere,
    /// Metal3 remediates it.
    External,
    /// This freezes it.
    Frozen(Arc<str>),
    /// No remediation object can be created.
    NoTemplate(Unavailable),
    /// One was created for it a moment ago and is gone.
    RequestPause(Timestamp),
    /// Until this time, if it is stored.
    Preserved(Option<Timestamp>),
    ControlPlaneOptOut,
    /// This Machine of the control plane is replaced first.
    ControlPlaneInFlight(ObjectKey),
    /// As many Machines of this MachineDeployment as `spec.remediation.maxInFlight` allows are in replacement.
    Budget {
        deployment: ObjectKey,
        in_flight: usize,
        limit: usize,
        /// When one of them no longer counts, at the latest.
        until: Option<Timestamp>,
    },
    /// As many Machines of the health check as `machinist.dev/max-in-flight` allows are in replacement.
    InFlight {
        in_flight: usize,
        limit: usize,
        /// When one of them no longer counts, at the latest.
        until: Option<Timestamp>,
    },
    /// There are as many records of replaced Machines as the health check can store.
    NoRecord,
    /// So many Machines were replaced in its place, none of which was healthy for this time.
    RetryLimit {
        retries: usize,
        period: Duration,
    },
    /// The limit of this MachineDeployment cannot be read.
    NoBudget(ObjectKey, NoBudget),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBudget {
    Unknown(NoLimit),
    /// The value of `spec.remediation.maxInFlight`.
    Invalid(String),
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Nothing,
    DryRun,
    /// The record was written, or not; nothing else was done.
    Recorded(Result<(), Failure>),
    /// One per Machine that was to be remediated, or whose remediation was to be ended.
    Executed(Vec<(Meta, Fate)>),
}

#[derive(Debug, Clone)]
pub enum Fate {
    Deleted,
    Requested,
    Annotated,
    /// Its remediation object was deleted.
    Ended,
    /// A live read showed that it is healthy or changed.
    Outdated,
    Failed(Failure),
}

impl Assessment {
    pub fn unhealthy(&self) -> usize {
        self.expected.saturating_sub(self.healthy)
    }

    pub fn is_allowed(&self) -> bool {
        self.unhealthy() <= self.max_unhealthy
    }

    /// How many more Machines may become unhealthy.
    pub fn remediations_allowed(&self) -> usize {
        self.max_unhealthy.saturating_sub(self.unhealthy())
    }

    /// Those that are remediated now.
    pub fn remediations(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|one| one.step.is_action())
    }

    pub fn held(&self) -> impl Iterator<Item = (&Finding, &Hold)> {
        self.findings.iter().filter_map(|one| match &one.step {
            Step::Held(hold) => Some((one, hold)),
            _ => None,
        })
    }
}

impl Step {
    pub fn is_action(&self) -> bool {
        matches!(self, Self::Remediate | Self::Request | Self::Annotate)
    }
}

impl Hold {
    /// Whether a change of other Machines or of the MachineDeployment may end it.
    pub fn waits_for_others(&self) -> bool {
        matches!(self, Self::ControlPlaneInFlight(_) | Self::Budget { .. } | Self::NoBudget(..))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOp(Reason::Deleting) => f.write_str("no-op: the health check is being deleted"),
            Self::NoOp(Reason::Undecodable(error)) => write!(f, "no-op: undecodable: {error}"),
            Self::NoOp(Reason::Paused) => f.write_str("no-op: paused"),
            Self::Refuse(refusal) => write!(f, "refuse: {refusal}"),
            Self::Assess(one) => {
                let (healthy, expected) = (one.healthy, one.expected);
                let verb = if one.record.is_some() { "record and remediate" } else { "remediate" };
                write!(f, "{verb} {} ({healthy}/{expected} healthy", one.remediations().count())?;
                for finding in one.remediations() {
                    let how = match finding.step {
                        Step::Request => " by an object",
                        Step::Annotate => " by an annotation",
                        _ => "",
                    };
                    write!(f, "; {}{how}", finding.meta.key.name)?;
                }
                for ended in &one.ended {
                    write!(f, "; {} has recovered", ended.machine.key.name)?;
                }
                f.write_str(")")
            }
        }
    }
}
