//! What the codes of Auto Scaling mean. It says `ValidationError` for almost everything, so what is missing shows only in the text.

use machinist_provider::capacity::Realm;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};

use crate::errors::AwsError;
use crate::machines::{At, judge};

/// Somebody else is changing the group, or it is doing something: later it may.
const BUSY: &[&str] = &[
    "ResourceContention",
    "ResourceInUse",
    "ScalingActivityInProgress",
    "ResourceContentionFault",
];

/// What an error means for whoever asked about a group.
pub(super) fn judge_group(error: &AwsError, realm: &Realm) -> CloudError {
    let text = || error.to_string();
    match error {
        AwsError::Refused { code, .. } if BUSY.contains(&code.as_str()) => {
            CloudError { effect: Effect::None, ..CloudError::new(ErrorClass::Unavailable, text()) }
        }
        AwsError::Refused { code, message, .. } if code == "ValidationError" => {
            let class = if message.to_ascii_lowercase().contains("not found") {
                ErrorClass::NotFound
            } else {
                ErrorClass::InvalidConfiguration
            };
            CloudError::new(class, text())
        }
        AwsError::Refused { code, .. } if code == "LimitExceeded" => {
            CloudError::new(ErrorClass::CapacityExhausted, text())
        }
        _ => judge(error, At::realm(realm)),
    }
}

/// Whether a refresh was not started because one is running.
pub(super) fn is_refresh_running(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code.starts_with("InstanceRefreshInProgress"))
}

/// Whether there is no refresh that could be stopped.
pub(super) fn is_no_refresh(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code.starts_with("ActiveInstanceRefreshNotFound"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(code: &str, message: &str, status: u16) -> (ErrorClass, Effect) {
        let error = AwsError::refused("UpdateAutoScalingGroup", code, message, status);
        let judged = judge_group(&error, &super::super::ambient());
        (judged.class, judged.effect)
    }

    #[test]
    fn codes_and_classes() {
        let missing = "AutoScalingGroup name not found - AutoScalingGroup a not found";
        let cases = [
            ("ValidationError", missing, 400, ErrorClass::NotFound, Effect::None),
            (
                "ValidationError",
                "MaxSize too small",
                400,
                ErrorClass::InvalidConfiguration,
                Effect::None,
            ),
            ("ResourceContention", "busy", 500, ErrorClass::Unavailable, Effect::None),
            ("ScalingActivityInProgress", "busy", 400, ErrorClass::Unavailable, Effect::None),
            ("LimitExceeded", "too many", 400, ErrorClass::CapacityExhausted, Effect::None),
            ("Throttling", "slow", 400, ErrorClass::Throttled, Effect::None),
            ("AccessDenied", "no", 403, ErrorClass::Unauthorised, Effect::None),
            ("InternalFailure", "oops", 500, ErrorClass::Unavailable, Effect::Unclear),
        ];
        for (code, message, status, class, effect) in cases {
            assert_eq!(class_of(code, message, status), (class, effect), "{code} {message}");
        }
    }
}
