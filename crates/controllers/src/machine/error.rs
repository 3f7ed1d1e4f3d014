//! Why a machine does not get on, and why it never will.

use machinist_api::names::{
    ERROR_CREATE, ERROR_INVALID_CONFIGURATION, ERROR_JOIN_CLUSTER_TIMEOUT, LABEL_CLUSTER,
};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};
use machinist_provider::spec::SpecError;

use super::snapshot::View;

/// Why nobody can be asked about a machine, or nothing is asked of anybody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It does not say which cluster it belongs to.
    #[error("label {LABEL_CLUSTER} is missing")]
    NoClusterLabel,
    /// The provider spec is no use.
    #[error(transparent)]
    BadSpec(#[from] SpecError),
    /// The Secret that the spec names is not there.
    #[error("secret {0} does not exist")]
    NoSecret(ObjectKey),
    /// Whom to ask, and as whom, could not be found out.
    #[error("the cloud could not be asked: {}", .0.message)]
    NotFoundOut(Failure),
    /// The cloud was asked about the instance and did not say.
    #[error("the cloud could not be asked: {}", .0.message)]
    CouldNotLook(Failure),
}

impl Refusal {
    /// Whether creating the machine can never work, whatever is done about its surroundings.
    ///
    /// A spec that nobody here reads is left alone: somebody else may. One that is missing may be on its way.
    pub fn is_terminal(&self) -> bool {
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

    /// Edits of the object and of its Secret bring it back; the others are tried again.
    fn retry(&self) -> Retry {
        match self {
            Self::NoClusterLabel | Self::BadSpec(_) | Self::NoSecret(_) => Retry::OnChange,
            Self::NotFoundOut(failure) => failure.retry,
            // Whatever the answer was, the next one may be another.
            Self::CouldNotLook(failure) => match failure.retry {
                Retry::OnChange => Retry::Backoff,
                retry => retry,
            },
        }
    }
}

/// Why a machine failed for good. There is nothing else that makes one fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fatal {
    /// What it asks for cannot be.
    #[error("{0}")]
    InvalidConfiguration(String),
    /// Its instance was there and is no more.
    #[error("can't find created instance{0}")]
    Vanished(String),
    /// It says itself how long its creation may take, and that was not enough for an instance.
    #[error("no instance within {0}, as its annotation demands")]
    NotCreatedInTime(String),
    /// The same, but there is an instance: no Node has come of it.
    #[error("no node within {0}, as its annotation demands")]
    NotJoinedInTime(String),
}

impl Fatal {
    /// `errorReason`, in the words of OpenShift. It has none for an instance that vanished.
    pub fn error_reason(&self) -> Option<&'static str> {
        match self {
            Self::InvalidConfiguration(_) => Some(ERROR_INVALID_CONFIGURATION),
            Self::Vanished(_) => None,
            Self::NotCreatedInTime(_) => Some(ERROR_CREATE),
            Self::NotJoinedInTime(_) => Some(ERROR_JOIN_CLUSTER_TIMEOUT),
        }
    }
}

/// What it means that a machine asks for the impossible, if an answer to an earlier request was lost: that request may have been carried out. So this
/// attempt is over, and what has come of it is looked for before anything is final.
pub(super) fn or_look_first(error: CloudError, view: &View) -> CloudError {
    let hopeless =
        error.class == ErrorClass::InvalidConfiguration && error.effect != Effect::Unclear;
    if !hopeless || !view.has_lost_an_answer() {
        return error;
    }
    let message = format!("{}; but an earlier request was not answered", error.message);
    let (class, effect) = (ErrorClass::Unavailable, Effect::NoneForThisAttempt);
    CloudError { class, effect, message, ..error }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::samples::{all, conditions, recorded, view};
    use super::*;

    #[test]
    fn nothing_is_hopeless_while_an_answer_is_missing() {
        let asked = json!({"status": {"providerStatus": {"launch": {"attempt": 1}}}});
        let said = |status, reason| conditions(&[("InstanceExists", status, reason)]);
        let unheard = all(&[asked.clone(), said("Unknown", "ErrorCheckingProvider")]);
        let heard = all(&[asked, said("False", "InstanceNotCreated")]);
        let judged = |patch: &Value, class, effect| {
            let error = CloudError { effect, ..CloudError::new(class, "no") };
            let error = or_look_first(error, &view(patch));
            (error.class, error.effect)
        };
        let over = (ErrorClass::Unavailable, Effect::NoneForThisAttempt);
        for effect in [Effect::None, Effect::NoneForThisAttempt] {
            let invalid = (ErrorClass::InvalidConfiguration, effect);
            assert_eq!(judged(&unheard, invalid.0, effect), over);
            assert_eq!(judged(&heard, invalid.0, effect), invalid);
            let seen = all(&[recorded(), said("Unknown", "ErrorCheckingProvider")]);
            assert_eq!(judged(&seen, invalid.0, effect), invalid, "it has its instance");
        }
        for (class, effect) in [
            (ErrorClass::InvalidConfiguration, Effect::Unclear),
            (ErrorClass::Throttled, Effect::None),
        ] {
            assert_eq!(judged(&unheard, class, effect), (class, effect));
        }
    }
}
