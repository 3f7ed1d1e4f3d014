use machinist_api::names::{
    CONDITION_INSTANCE_EXISTS, REASON_ERROR_CHECKING_PROVIDER, REASON_INSTANCE_MISSING,
    REASON_INSTANCE_NOT_CREATED, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::Condition;
use machinist_domain::observed::Observed;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, ProviderStatus};

use super::super::messages;
use super::super::snapshot::{REASON_INSTANCE_GONE, REASON_INSTANCE_NOT_REQUESTED, View};

pub(super) fn gone() -> Condition {
    no(SEVERITY_INFO, REASON_INSTANCE_GONE, messages::NOTHING_LEFT)
}

pub(super) fn missing(text: &str) -> Condition {
    no(SEVERITY_WARNING, REASON_INSTANCE_MISSING, text)
}

/// Whether no request can have created an instance: no launch is stored, or the instance was not found.
pub(super) fn is_not_created(view: &View) -> bool {
    let looked_for = matches!(view.observed, Observed::Absent);
    !view.had_instance() && (view.attempt().is_none() || looked_for)
}

/// What a failed create call leaves open about the instance; `None` if it leaves nothing open.
pub(super) fn uncertain(view: &View, error: &CloudError) -> Option<Condition> {
    if view.had_instance() {
        return None;
    }
    let text = match error.effect {
        Effect::None => return None,
        Effect::NoneForThisAttempt if error.class == ErrorClass::CapacityExhausted => return None,
        Effect::NoneForThisAttempt => messages::CHECKING_EARLIER_REQUEST,
        Effect::Unclear => messages::CHECKING_UNANSWERED_REQUEST,
    };
    Some(unknown(text))
}

pub(super) fn unknown(text: &str) -> Condition {
    Condition::unknown(CONDITION_INSTANCE_EXISTS, REASON_ERROR_CHECKING_PROVIDER, text)
}

pub(super) fn not_created(stored: &ProviderStatus) -> Condition {
    let (reason, text) = if stored.is_empty() {
        (REASON_INSTANCE_NOT_REQUESTED, messages::NOT_REQUESTED)
    } else {
        (REASON_INSTANCE_NOT_CREATED, messages::NOT_CREATED)
    };
    no(SEVERITY_WARNING, reason, text)
}

fn no(severity: &'static str, reason: &'static str, text: &str) -> Condition {
    Condition::no(CONDITION_INSTANCE_EXISTS, severity, reason, text)
}
