//! Why a Machine makes no progress, and why it failed.

use machinist_api::names::{ERROR_CREATE, ERROR_INVALID_CONFIGURATION, ERROR_JOIN_CLUSTER_TIMEOUT};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};
use machinist_provider::spec::SpecError;

use super::messages;
use super::snapshot::View;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    NoClusterLabel,
    BadSpec(#[from] SpecError),
    NoSecret(ObjectKey),
    /// Account, region or cluster settings could not be determined.
    NotFoundOut(Failure),
    CouldNotLook(Failure),
}

impl Refusal {
    /// Whether only another spec helps. An unknown kind may have another controller; a missing spec may follow.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::BadSpec(SpecError::Invalid { .. }))
    }
}

impl Classified for Refusal {
    fn category(&self) -> Category {
        match self {
            Self::NoClusterLabel | Self::BadSpec(_) | Self::NoSecret(_) => {
                Category::InvalidConfiguration
            }
            Self::NotFoundOut(failure) | Self::CouldNotLook(failure) => failure.category,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::NoClusterLabel | Self::BadSpec(_) | Self::NoSecret(_) => Retry::OnChange,
            Self::NotFoundOut(failure) => failure.retry,
            // No watch reports that the cloud would answer differently.
            Self::CouldNotLook(failure) => failure.retry.or_backoff(),
        }
    }
}

/// Why a Machine has the phase Failed. There are no other reasons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fatal {
    InvalidConfiguration(String),
    /// The instance, by its provider ID, existed and does not any more.
    Missing(Option<Box<str>>),
    Terminated {
        id: Box<str>,
        reason: Option<Box<str>>,
    },
    NotCreatedInTime(String),
    NotJoinedInTime(String),
}

impl Fatal {
    /// Why a failed create call fails the Machine for good; `None` if it is retried. Only another spec helps against
    /// a refusal. See [`or_look_first`] for a refusal after a request that was not answered.
    pub(super) fn of_create(error: &CloudError) -> Option<Self> {
        let refused =
            error.class == ErrorClass::InvalidConfiguration && error.effect != Effect::Unclear;
        refused.then(|| Self::InvalidConfiguration(error.message.clone()))
    }

    /// `errorReason`. OpenShift has none for an instance that is gone.
    pub(super) fn error_reason(&self) -> Option<&'static str> {
        match self {
            Self::InvalidConfiguration(_) => Some(ERROR_INVALID_CONFIGURATION),
            Self::Missing(_) | Self::Terminated { .. } => None,
            Self::NotCreatedInTime(_) => Some(ERROR_CREATE),
            Self::NotJoinedInTime(_) => Some(ERROR_JOIN_CLUSTER_TIMEOUT),
        }
    }
}

/// Ends the attempt instead of failing the Machine if an earlier create request was not answered: it may have
/// succeeded, so the instance is looked for first.
pub(super) fn or_look_first(error: CloudError, view: &View) -> CloudError {
    if Fatal::of_create(&error).is_none() || !view.has_unanswered_create() {
        return error;
    }
    let message = messages::earlier_request_unanswered(&error.message);
    let (class, effect) = (ErrorClass::Unavailable, Effect::NoneForThisAttempt);
    CloudError { class, effect, message, ..error }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::samples::{all, conditions, recorded, view};
    use super::*;

    #[test]
    fn looks_first_while_a_create_request_is_unanswered() {
        let asked = json!({"status": {"providerStatus": {"launch": {"attempt": 1}}}});
        let exists = |status, reason| conditions(&[("InstanceExists", status, reason)]);
        let unanswered = all(&[asked.clone(), exists("Unknown", "ErrorCheckingProvider")]);
        let answered = all(&[asked, exists("False", "InstanceNotCreated")]);
        let judged = |patch: &Value, class, effect| {
            let error = CloudError { effect, ..CloudError::new(class, "no") };
            let error = or_look_first(error, &view(patch));
            (error.class, error.effect)
        };
        let over = (ErrorClass::Unavailable, Effect::NoneForThisAttempt);
        for effect in [Effect::None, Effect::NoneForThisAttempt] {
            let invalid = (ErrorClass::InvalidConfiguration, effect);
            assert_eq!(judged(&unanswered, invalid.0, effect), over);
            assert_eq!(judged(&answered, invalid.0, effect), invalid);
            let seen = all(&[recorded(), exists("Unknown", "ErrorCheckingProvider")]);
            assert_eq!(judged(&seen, invalid.0, effect), invalid, "it has its instance");
        }
        for (class, effect) in [
            (ErrorClass::InvalidConfiguration, Effect::Unclear),
            (ErrorClass::Throttled, Effect::None),
        ] {
            assert_eq!(judged(&unanswered, class, effect), (class, effect));
        }
    }
}
