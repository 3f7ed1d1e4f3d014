//! One case per row of the table, and per form of an unknown code.

use machinist_provider::access::Credentials;

use super::super::launch::Place;
use super::*;

fn access() -> CloudAccess {
    CloudAccess {
        region: "eu-west-1".into(),
        credentials: Credentials::Ambient,
        endpoint: None,
        ca_bundle: None,
    }
}

fn launch() -> Launch {
    Launch {
        zone: "eu-west-1a".into(),
        instance_type: "m6i.large".into(),
        subnet: "subnet-1".into(),
        ..Launch::default()
    }
}

fn classified(code: &str, status: u16, elsewhere: bool) -> CloudError {
    judged_of(&Launch { elsewhere, ..launch() }, code, status)
}

fn judged_of(launch: &Launch, code: &str, status: u16) -> CloudError {
    let at = ErrorContext { access: &access(), launch: Some(launch) };
    classify(&AwsError::refused("RunInstances", code, "EC2's own words", status), at)
}

#[test]
fn every_row_of_the_table_has_its_class() {
    for (code, meaning) in TABLE {
        let expected = match meaning {
            Meaning::Invalid | Meaning::NotInZone => ErrorClass::InvalidConfiguration,
            Meaning::Missing => ErrorClass::NotFound,
            Meaning::ZoneFull | Meaning::PriceTooLow | Meaning::SubnetFull | Meaning::Quota => {
                ErrorClass::CapacityExhausted
            }
            Meaning::Busy | Meaning::TokenSpent => ErrorClass::Unavailable,
            Meaning::Protected => ErrorClass::Unauthorised,
        };
        let error = classified(code, 400, false);
        assert_eq!(error.class, expected, "{code}");
        assert_ne!(error.effect, Effect::Unclear, "{code}: EC2 said no");
        assert!(error.message.contains("EC2's own words"), "{error}");
        let shared = error.class == ErrorClass::CapacityExhausted;
        assert_eq!(error.domain.is_some(), shared, "{code}");
    }
    assert!(TABLE.is_sorted_by_key(|(code, _)| *code));
}

#[test]
fn every_row_of_the_table_is_tried_over_the_wire() {
    let tried = include_str!("../../../tests/ec2/machines/refusals.tsv");
    let tried: Vec<_> = tried.lines().filter_map(|line| line.split('\t').nth(2)).collect();
    for (code, _) in TABLE {
        assert!(tried.contains(code), "{code} is not in refusals.tsv");
    }
}

#[test]
fn unknown_codes_are_classified_by_their_form() {
    let cases = [
        ("InvalidAMIID.NotFound", 400, ErrorClass::InvalidConfiguration, Effect::None),
        ("InvalidSubnetID.NotFound", 400, ErrorClass::InvalidConfiguration, Effect::None),
        ("InvalidParameterValue", 400, ErrorClass::InvalidConfiguration, Effect::None),
        ("MissingParameter", 400, ErrorClass::InvalidConfiguration, Effect::None),
        ("VPCIdNotSpecified", 400, ErrorClass::InvalidConfiguration, Effect::None),
        ("UnknownVolumeType", 400, ErrorClass::InvalidConfiguration, Effect::None),
        ("UnknownToEverybody", 400, ErrorClass::Unexpected, Effect::None),
        ("OptInRequired", 401, ErrorClass::Unauthorised, Effect::None),
        ("InvalidSecurity.RequestHasExpired", 400, ErrorClass::Unauthorised, Effect::None),
        ("SomethingNew", 400, ErrorClass::Unexpected, Effect::None),
        ("SomethingNew", 500, ErrorClass::Unavailable, Effect::Unclear),
        ("InvalidParameterValue", 503, ErrorClass::Unavailable, Effect::Unclear),
        ("InternalError", 500, ErrorClass::Unavailable, Effect::Unclear),
        ("RequestLimitExceeded", 503, ErrorClass::Throttled, Effect::None),
        ("UnauthorizedOperation", 403, ErrorClass::Unauthorised, Effect::None),
        ("AuthFailure", 401, ErrorClass::Unauthorised, Effect::None),
    ];
    for (code, status, class, effect) in cases {
        let error = classified(code, status, false);
        assert_eq!((error.class, error.effect), (class, effect), "{code} {status}");
    }
}

#[test]
fn unknown_instance_profile_is_not_found() {
    let class = |words: &str| {
        let error = AwsError::refused("RunInstances", "InvalidParameterValue", words, 400);
        let error = classify(&error, ErrorContext::of(&access()));
        (error.class, error.effect)
    };
    for field in ["name", "arn"] {
        let words = format!("Value (x) for parameter iamInstanceProfile.{field} is invalid.");
        assert_eq!(class(&words), (ErrorClass::NotFound, Effect::None), "{words}");
    }
    let other = class("Value () for parameter groupId is invalid. The value cannot be empty");
    assert_eq!(other, (ErrorClass::InvalidConfiguration, Effect::None));
}

#[test]
fn shared_failures_have_a_failure_domain() {
    let domain = |code: &str, status| {
        classified(code, status, false).domain.map(|domain| domain.0.to_string())
    };
    let cases = [
        ("InsufficientInstanceCapacity", 500, "aws/eu-west-1/eu-west-1a/m6i.large"),
        ("InsufficientFreeAddressesInSubnet", 400, "aws/eu-west-1/subnet-1"),
        ("VcpuLimitExceeded", 400, "aws/eu-west-1/ambient/m6i.large"),
        ("RequestLimitExceeded", 503, "aws/eu-west-1/ambient"),
    ];
    for (code, status, expected) in cases {
        assert_eq!(domain(code, status).as_deref(), Some(expected), "{code}");
    }
}

#[test]
fn capacity_failures_have_the_narrowest_domain() {
    let spot = |price: Option<&str>| Launch {
        market: Some(Market::Spot { max_price: price.map(str::to_owned) }),
        ..launch()
    };
    let placed = |placement| Launch { placement, ..launch() };
    let on_host = |host: &str| placed(Place { host: Some(host.to_owned()), ..Place::default() });
    let in_group =
        |group: &str| placed(Place { group: Some(group.to_owned()), ..Place::default() });
    let tenancy = |word: &str| placed(Place { tenancy: Some(word.to_owned()), ..Place::default() });
    let reserved = |id: &str| Launch { capacity_reservation: Some(id.to_owned()), ..launch() };
    let block = Launch { market: Some(Market::CapacityBlock), ..launch() };
    let full = "InsufficientInstanceCapacity";
    let cases = [
        (launch(), full),
        (spot(None), full),
        (spot(None), "SpotMaxPriceTooLow"),
        (spot(Some("0.01")), "SpotMaxPriceTooLow"),
        (spot(Some("0.02")), "SpotMaxPriceTooLow"),
        (block, full),
        (tenancy("dedicated"), full),
        (on_host("h-1"), "InsufficientCapacityOnHost"),
        (on_host("h-2"), "InsufficientCapacityOnHost"),
        (reserved("cr-1"), "ReservationCapacityExceeded"),
        (reserved("cr-2"), "ReservationCapacityExceeded"),
        (in_group("x"), "InvalidPlacementGroup.InUse"),
        (in_group("y"), "InvalidPlacementGroup.InUse"),
    ];
    let domain = |(launch, code): &(Launch, &str)| {
        let open = Launch { elsewhere: true, ..launch.clone() };
        judged_of(&open, code, 400).domain.unwrap().0
    };
    let domains: std::collections::BTreeSet<_> = cases.iter().map(domain).collect();
    assert_eq!(domains.len(), cases.len(), "{domains:#?}");
    for (one, other) in [(spot(None), spot(Some("0.01"))), (launch(), tenancy("default"))] {
        assert_eq!(domain(&(one, full)), domain(&(other, full)));
    }
}

#[test]
fn full_zone_ends_the_attempt_if_another_zone_matches() {
    for code in ["InsufficientInstanceCapacity", "InsufficientFreeAddressesInSubnet", "Unsupported"]
    {
        let error = classified(code, 400, true);
        let expected = (ErrorClass::CapacityExhausted, Effect::NoneForThisAttempt);
        assert_eq!((error.class, error.effect), expected, "{code}");
    }
    assert_eq!(classified("VcpuLimitExceeded", 400, true).effect, Effect::None);
}

#[test]
fn full_subnet_ends_the_attempt_if_another_subnet_matches() {
    let access = access();
    let launch = Launch { other_subnets: true, ..launch() };
    let at = ErrorContext { access: &access, launch: Some(&launch) };
    let effect = |code| classify(&AwsError::refused("RunInstances", code, "", 400), at).effect;
    assert_eq!(effect("InsufficientFreeAddressesInSubnet"), Effect::NoneForThisAttempt);
    assert_eq!(effect("InsufficientInstanceCapacity"), Effect::None);
}

#[test]
fn used_token_ends_the_attempt() {
    for code in ["IdempotentParameterMismatch", "IdempotentInstanceTerminated"] {
        assert!(is_spent_token(&AwsError::refused("RunInstances", code, "", 400)));
        let error = classified(code, 400, false);
        assert_eq!(error.effect, Effect::NoneForThisAttempt, "{code}");
        assert_ne!(error.class, ErrorClass::InvalidConfiguration, "{code}");
    }
}

#[test]
fn missing_and_invalid_responses_have_an_unclear_effect() {
    let access = access();
    let of = |error: &AwsError| {
        let error = classify(error, ErrorContext::of(&access));
        (error.class, error.effect)
    };
    let reason = || "x".to_owned();
    let unanswered = AwsError::NoResponse { operation: "RunInstances", reason: reason() };
    assert_eq!(of(&unanswered), (ErrorClass::Unavailable, Effect::Unclear));
    let garbled =
        |status| AwsError::InvalidResponse { operation: "RunInstances", status, reason: reason() };
    for status in [200, 403, 502] {
        let result = of(&garbled(status));
        assert_eq!(result, (ErrorClass::Unavailable, Effect::Unclear), "{status}");
    }
    let region = AwsError::NoSuchRegion("x".to_owned());
    assert_eq!(of(&region), (ErrorClass::InvalidConfiguration, Effect::None));
}

#[test]
fn refused_reads_and_deletes_are_not_invalid_configuration() {
    let access = access();
    let class = |operation, code| {
        classify(&AwsError::refused(operation, code, "", 400), ErrorContext::of(&access)).class
    };
    for operation in ["DescribeInstances", "DescribeVpcs", "TerminateInstances", "ReleaseHosts"] {
        assert_eq!(
            class(operation, "InvalidParameterValue"),
            ErrorClass::Unexpected,
            "{operation}"
        );
    }
    let mistake = ErrorClass::InvalidConfiguration;
    assert_eq!(class("DescribeImages", "InvalidAMIID.NotFound"), mistake);
    assert_eq!(class("DescribeImages", "InvalidSomethingNew"), ErrorClass::Unexpected);
    assert_eq!(class("RunInstances", "InvalidSomethingNew"), mistake);
}

#[test]
fn refused_role_is_unauthorised() {
    let access = access();
    for code in ["RegionDisabledException", "MalformedPolicyDocument", "InvalidParameterValue"] {
        let error =
            classify(&AwsError::refused("AssumeRole", code, "", 400), ErrorContext::of(&access));
        assert_eq!((error.class, error.effect), (ErrorClass::Unauthorised, Effect::None), "{code}");
    }
    let busy = classify(
        &AwsError::refused("AssumeRole", "Throttling", "", 400),
        ErrorContext::of(&access),
    );
    assert_eq!(busy.class, ErrorClass::Throttled);
}
