//! Refusals in EC2's form, and what becomes of them: the table as seen from the outside. Codes and statuses are EC2's; the words are written
//! after it, and are no recordings.

use http::StatusCode;
use machinist_domain::retry::{Category, Classified, Retry};
use machinist_provider::cloud::{Effect as Had, ErrorClass};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::Field;

fn refuse(status: u16, code: &str, message: &str) -> Effect {
    Effect::Refuse {
        status: StatusCode::from_u16(status).unwrap(),
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

const MISTAKE: ErrorClass = ErrorClass::InvalidConfiguration;
const FULL: ErrorClass = ErrorClass::CapacityExhausted;
const OUTAGE: ErrorClass = ErrorClass::Unavailable;

/// Status, code, words, class, effect.
const REFUSALS: &[(u16, &str, &str, ErrorClass, Had)] = &[
    (400, "InvalidAMIID.NotFound", "The image id '[ami-0123]' does not exist", MISTAKE, Had::None),
    (
        400,
        "InvalidAMIID.Malformed",
        "Invalid id: \"x\" (expecting \"ami-...\")",
        MISTAKE,
        Had::None,
    ),
    (
        400,
        "InvalidSubnetID.NotFound",
        "The subnet ID 'subnet-1' does not exist",
        MISTAKE,
        Had::None,
    ),
    (400, "InvalidGroup.NotFound", "The security group 'sg-1' does not exist", MISTAKE, Had::None),
    (400, "InvalidKeyPair.NotFound", "The key pair 'x' does not exist", MISTAKE, Had::None),
    (400, "InvalidParameterValue", "Invalid IAM Instance Profile name", MISTAKE, Had::None),
    (
        400,
        "InvalidParameterCombination",
        "Network interfaces and an instance-level subnet ID",
        MISTAKE,
        Had::None,
    ),
    (400, "InvalidBlockDeviceMapping", "Invalid device name /dev/x", MISTAKE, Had::None),
    (
        400,
        "InvalidPlacementGroup.Unknown",
        "The Placement Group 'x' is unknown.",
        MISTAKE,
        Had::None,
    ),
    (
        400,
        "InvalidCapacityReservationId.NotFound",
        "The Capacity Reservation does not exist",
        MISTAKE,
        Had::None,
    ),
    (400, "MissingParameter", "The request must contain the parameter ImageId", MISTAKE, Had::None),
    (
        400,
        "UnsupportedOperation",
        "The instance configuration is not supported.",
        MISTAKE,
        Had::None,
    ),
    (400, "VPCIdNotSpecified", "No default VPC for this user", MISTAKE, Had::None),
    (401, "OptInRequired", "You are not subscribed to this service.", MISTAKE, Had::None),
    (
        500,
        "InsufficientInstanceCapacity",
        "We currently do not have sufficient m5.large capacity",
        FULL,
        Had::NoneForThisAttempt,
    ),
    (
        400,
        "Unsupported",
        "Your requested instance type (m5.large) is not supported in us-east-2a.",
        FULL,
        Had::NoneForThisAttempt,
    ),
    (
        400,
        "InsufficientFreeAddressesInSubnet",
        "There are not enough free addresses in subnet",
        FULL,
        Had::NoneForThisAttempt,
    ),
    (
        400,
        "SpotMaxPriceTooLow",
        "Your Spot request price is lower than the minimum",
        FULL,
        Had::NoneForThisAttempt,
    ),
    (
        400,
        "ReservationCapacityExceeded",
        "The requested reservation has no capacity",
        FULL,
        Had::NoneForThisAttempt,
    ),
    (
        400,
        "VcpuLimitExceeded",
        "You have requested more vCPU capacity than your limit of 32",
        FULL,
        Had::None,
    ),
    (
        400,
        "InstanceLimitExceeded",
        "You have requested more instances than your limit",
        FULL,
        Had::None,
    ),
    (400, "MaxSpotInstanceCountExceeded", "Max spot instance count exceeded", FULL, Had::None),
    (400, "VolumeLimitExceeded", "You have exceeded your maximum volume storage", FULL, Had::None),
    (503, "RequestLimitExceeded", "Request limit exceeded.", ErrorClass::Throttled, Had::None),
    (400, "Throttling", "Rate exceeded", ErrorClass::Throttled, Had::None),
    (
        403,
        "UnauthorizedOperation",
        "You are not authorized to perform this operation.",
        ErrorClass::Unauthorised,
        Had::None,
    ),
    (
        401,
        "AuthFailure",
        "AWS was not able to validate the provided access credentials",
        ErrorClass::Unauthorised,
        Had::None,
    ),
    (
        400,
        "PendingVerification",
        "Your request for accessing resources is being validated",
        ErrorClass::Unauthorised,
        Had::None,
    ),
    (400, "InvalidAMIID.Unavailable", "The image ID 'ami-1' is not available", OUTAGE, Had::None),
    (500, "InternalError", "An internal error has occurred", OUTAGE, Had::Unclear),
    (
        503,
        "Unavailable",
        "The service is unavailable. Please try again shortly.",
        OUTAGE,
        Had::Unclear,
    ),
    (
        400,
        "IdempotentParameterMismatch",
        "Arguments on this idempotent request are inconsistent",
        OUTAGE,
        Had::NoneForThisAttempt,
    ),
    (
        400,
        "IdempotentInstanceTerminated",
        "The instance with this token was terminated",
        OUTAGE,
        Had::NoneForThisAttempt,
    ),
    (400, "SomethingNew", "Nobody has seen this before.", ErrorClass::Unknown, Had::None),
];

#[tokio::test]
async fn what_ec2_says_to_a_launch() {
    let field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    for (status, code, words, class, effect) in REFUSALS {
        field.front().inject(Rule::next("RunInstances", refuse(*status, code, words)));
        let error = field.cloud.create(&machine).await.unwrap_err();
        assert_eq!((error.class, error.effect), (*class, *effect), "{code}");
        assert!(error.message.contains(words) && error.message.contains(code), "{error}");
        let shared = matches!(class, ErrorClass::CapacityExhausted | ErrorClass::Throttled);
        assert_eq!(error.domain.is_some(), shared, "{code}");
        assert_eq!(error.retry() == Retry::OnChange, *class == MISTAKE, "{code}");
    }
    assert_eq!(field.truth(&machine.uid).await.len(), 0);
}

/// Whatever goes wrong while something is looked up, it passes; only what EC2 says it does not know is a mistake.
#[tokio::test]
async fn trouble_while_looking_things_up_is_not_the_machines_fault() {
    let root = json!({ "blockDevices": [{ "ebs": {} }], "publicIp": true });
    let actions = [
        "DescribeImages",
        "DescribeSecurityGroups",
        "DescribeSubnets",
        "DescribeAvailabilityZones",
    ];
    let troubles = [
        (Effect::Throttle, Category::Throttled),
        (Effect::ResetBefore, Category::Unavailable),
        (refuse(500, "InternalError", "x"), Category::Unavailable),
        (refuse(403, "UnauthorizedOperation", "x"), Category::Unauthorised),
        (Effect::Garble, Category::Unexpected),
    ];
    for action in actions {
        let field = Field::new().await;
        for (effect, category) in &troubles {
            field.front().inject(Rule::next(action, effect.clone()));
            let error = field.prepare(&mut field.machine(&root)).await.unwrap_err();
            assert_eq!(error.category(), *category, "{action} {effect:?}: {error}");
        }
        assert_eq!(field.front().unmet_rules(), []);
        field.prepared(&root).await;
    }
}

#[tokio::test]
async fn what_does_not_exist_is_a_mistake_in_ec2s_own_words() {
    let field = Field::new().await;
    let cases = [
        (
            json!({ "ami": { "id": "ami-00000000000000000" }, "blockDevices": [{ "ebs": {} }] }),
            "does not exist",
        ),
        (json!({ "subnet": { "id": "subnet-00000000000000000" } }), "does not exist"),
        (
            json!({ "ami": { "filters": [{ "name": "name", "values": ["none"] }] } }),
            "ami: no image fits",
        ),
        (
            json!({ "subnet": { "filters": [{ "name": "tag:x", "values": ["none"] }] } }),
            "subnet: no subnet fits",
        ),
        (
            json!({ "securityGroups": [{ "filters": [{ "name": "group-name", "values": ["none"] }] }] }),
            "no security group fits",
        ),
        (json!({ "securityGroups": [] }), "no security group fits"),
    ];
    for (extra, words) in cases {
        let error = field.prepare(&mut field.machine(&extra)).await.unwrap_err();
        assert_eq!(error.class, MISTAKE, "{extra}: {error}");
        assert!(error.message.contains(words), "{error}");
    }
    // One that is named and needs no look is refused by the launch itself.
    let machine = field.prepared(&json!({ "ami": { "id": "ami-00000000000000000" } })).await;
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(error.class, MISTAKE);
    assert!(error.message.contains("ami-00000000000000000"), "{error}");
}

#[tokio::test]
async fn a_protected_instance_is_told_and_kept() {
    let field = Field::new().await;
    let machine = field.created(&json!({})).await;
    let words = "The instance may not be terminated. Modify its 'disableApiTermination' attribute.";
    let refusal = refuse(400, "OperationNotPermitted", words);
    field.front().inject(Rule::next("TerminateInstances", refusal));
    let error = field.cloud.delete(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
    assert!(error.message.contains(words), "{error}");
    field.delete(&machine).await;
}
