use std::fmt;

use machinist_domain::key::ObjectKey;
use machinist_domain::report::EventReason;
use machinist_domain::retry::{Failure, Retry};
use machinist_provider::spec::SpecError;

use super::messages;

/// Why an object gets no annotations. Existing ones stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    UnknownType {
        instance_type: String,
        provider: &'static str,
    },
    NoCapacities {
        provider: &'static str,
    },
    BadSpec(SpecError),
    Undecodable(String),
    NoSecret(ObjectKey),
    /// Credentials or endpoint could not be read from the cluster, and the catalogue has no entry.
    NoAccess(Failure),
    /// The cloud could not be asked, and the catalogue has no entry.
    CloudFailed(Failure),
}

impl Refusal {
    pub(super) fn event_reason(&self) -> EventReason {
        match self {
            Self::UnknownType { .. } | Self::NoCapacities { .. } => EventReason::FailedUpdate,
            _ => EventReason::ReconcileError,
        }
    }

    /// A change of the object, its Secret or the cloud's answer requeues; the capacity source retries by itself.
    pub(super) fn retry(&self) -> Retry {
        match self {
            Self::NoAccess(failure) => failure.retry,
            _ => Retry::OnChange,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&messages::refusal(self))
    }
}
