//! Classifies Auto Scaling errors. `ValidationError` covers almost everything, so "not found" is only in its text.

use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};

use crate::errors::AwsError;
use crate::machines::{ErrorContext, classify};

/// Codes that pass: the group is changing.
const BUSY: &[&str] = &[
    "ResourceContention",
    "ResourceInUse",
    "ScalingActivityInProgress",
    "ResourceContentionFault",
];

pub(super) fn classify_group_error(error: &AwsError, access: &CloudAccess) -> CloudError {
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
        _ => classify(error, ErrorContext::of(access)),
    }
}

pub(super) fn is_refresh_running(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code.starts_with("InstanceRefreshInProgress"))
}

pub(super) fn is_no_refresh(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code.starts_with("ActiveInstanceRefreshNotFound"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(code: &str, message: &str, status: u16) -> (ErrorClass, Effect) {
        let error = AwsError::refused("UpdateAutoScalingGroup", code, message, status);
        let classified = classify_group_error(&error, &super::super::ambient());
        (classified.class, classified.effect)
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
