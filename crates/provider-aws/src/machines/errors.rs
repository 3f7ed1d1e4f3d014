//! The one table from EC2's error codes to what they mean for a machine.
//!
//! In: an [`AwsError`] and where it happened. Out: a [`CloudError`]: its class, whether anything may have happened, who else is concerned.
//!
//! A code that is not in the table is judged by its form: `Invalid…` and its like are mistakes in what is asked for with values of the spec, and
//! the known ones of them in what is looked up with such values; what else EC2 refuses (4xx) had no effect and may pass; what it fails to do (5xx) may have had one. Only what no time mends is a mistake: throttling, timeouts and
//! outages never are, wherever they happen.

use machinist_domain::retry::{Category, Classified};
use machinist_provider::capacity::{Credentials, Realm};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};

use super::launch::{Launch, MarketTerms};
use crate::errors::AwsError;

/// Where something went wrong, as far as that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(super) realm: &'a Realm,
    /// What was asked for, if it was an instance or its host.
    pub(super) launch: Option<&'a Launch>,
}

impl<'a> At<'a> {
    pub(crate) fn realm(realm: &'a Realm) -> Self {
        Self { realm, launch: None }
    }

    /// Whether another attempt may go to another zone.
    fn elsewhere(self) -> bool {
        self.launch.is_some_and(|launch| launch.elsewhere)
    }

    /// Whether another attempt goes to another subnet.
    fn other_subnets(self) -> bool {
        self.launch.is_some_and(|launch| launch.other_subnets)
    }

    /// Those who ask for the same room: a type in a zone, and whatever narrows it down. Where there is none for one of them there is none for the others; of
    /// other markets, hosts, reservations and groups it says nothing.
    fn room(self) -> String {
        let region = &self.realm.region;
        let Some(launch) = self.launch else { return format!("aws/{region}") };
        let market = launch.market.as_ref().map(|terms| match terms {
            MarketTerms::Spot { .. } => "spot",
            MarketTerms::CapacityBlock => "capacity block",
        });
        let (place, reservation) = (&launch.placement, launch.capacity_reservation.as_deref());
        let tenancy = place.tenancy.as_deref().filter(|tenancy| *tenancy != "default");
        let narrower =
            [market, tenancy, place.host.as_deref(), reservation, place.group.as_deref()];
        let mut room = format!("aws/{region}/{}/{}", launch.zone, launch.instance_type);
        for part in narrower.into_iter().flatten() {
            room.push('/');
            room.push_str(part);
        }
        room
    }

    /// Those who offer the same price for the same room.
    fn offer(self) -> String {
        let price = match self.launch.and_then(|launch| launch.market.as_ref()) {
            Some(MarketTerms::Spot { max_price }) => max_price.as_deref(),
            Some(MarketTerms::CapacityBlock) | None => None,
        };
        format!("{}/for {}", self.room(), price.unwrap_or("the usual price"))
    }
}

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Somebody must edit the spec.
    Mistake,
    /// No such instance or host, or nothing of that name yet.
    Missing,
    /// The zone has no room of this kind.
    ZoneFull,
    /// There is room, for a better price.
    PriceTooLow,
    /// The subnet has no address left.
    SubnetFull,
    /// A quota of the account is used up.
    Quota,
    /// This type is not to be had in this zone.
    NotInZone,
    /// It would work later: something is being changed by somebody else.
    Busy,
    /// This token was used for something else, or what it made is gone.
    TokenSpent,
    /// EC2 will not do it to this instance.
    Protected,
}

const TABLE: &[(&str, Meaning)] = &[
    ("AddressLimitExceeded", Meaning::Quota),
    ("ConcurrentTagAccess", Meaning::Busy),
    ("DependencyViolation", Meaning::Busy),
    ("HostLimitExceeded", Meaning::Quota),
    ("IdempotentInstanceTerminated", Meaning::TokenSpent),
    ("IdempotentParameterMismatch", Meaning::TokenSpent),
    ("IncorrectInstanceState", Meaning::Busy),
    ("IncorrectState", Meaning::Busy),
    ("InstanceLimitExceeded", Meaning::Quota),
    ("InsufficientAddressCapacity", Meaning::ZoneFull),
    ("InsufficientCapacity", Meaning::ZoneFull),
    ("InsufficientCapacityOnHost", Meaning::ZoneFull),
    ("InsufficientFreeAddressesInSubnet", Meaning::SubnetFull),
    ("InsufficientHostCapacity", Meaning::ZoneFull),
    ("InsufficientInstanceCapacity", Meaning::ZoneFull),
    ("InsufficientReservedInstanceCapacity", Meaning::ZoneFull),
    ("InsufficientVolumeCapacity", Meaning::ZoneFull),
    ("InvalidAMIID.Unavailable", Meaning::Busy),
    // It may only not be known everywhere yet.
    ("InvalidGroup.NotFound", Meaning::Missing),
    // EC2 spells it in both ways.
    ("InvalidHostID.NotFound", Meaning::Missing),
    ("InvalidHostId.NotFound", Meaning::Missing),
    ("InvalidHostState", Meaning::Busy),
    ("InvalidInstance", Meaning::Busy),
    ("InvalidInstanceID.Malformed", Meaning::Missing),
    ("InvalidInstanceID.NotFound", Meaning::Missing),
    ("InvalidNextToken", Meaning::Busy),
    ("InvalidPaginationToken", Meaning::Busy),
    // A cluster of machines is in one zone, and the others are in another one.
    ("InvalidPlacementGroup.InUse", Meaning::NotInZone),
    ("InvalidState", Meaning::Busy),
    // Load balancers: the instance does not run yet.
    ("InvalidTarget", Meaning::Busy),
    ("LoadBalancerNotFound", Meaning::Missing),
    ("MaxIOPSLimitExceeded", Meaning::Quota),
    ("MaxSpotInstanceCountExceeded", Meaning::Quota),
    ("NetworkInterfaceLimitExceeded", Meaning::Quota),
    ("OperationNotPermitted", Meaning::Protected),
    ("PendingSnapshotLimitExceeded", Meaning::Quota),
    ("ReservationCapacityExceeded", Meaning::ZoneFull),
    ("ResourceCountExceeded", Meaning::Quota),
    ("ResourceLimitExceeded", Meaning::Quota),
    ("SpotMaxPriceTooLow", Meaning::PriceTooLow),
    ("TagLimitExceeded", Meaning::Mistake),
    ("TargetGroupNotFound", Meaning::Missing),
    ("TooManyRegistrationsForTargetId", Meaning::Quota),
    ("TooManyTargets", Meaning::Quota),
    ("Unsupported", Meaning::NotInZone),
    ("UnsupportedHostConfiguration", Meaning::NotInZone),
    ("VcpuLimitExceeded", Meaning::Quota),
    ("VolumeIOPSLimit", Meaning::Quota),
    ("VolumeLimitExceeded", Meaning::Quota),
];

/// Codes that say too little, and what their words name.
const WORDS: &[(&str, &str, Meaning)] = &[
    // IAM tells EC2 of a new profile after some seconds.
    ("InvalidParameterValue", "iamInstanceProfile", Meaning::Missing),
];

/// How the codes of mistakes begin.
const MISTAKES: &[&str] = &[
    "Invalid",
    "Malformed",
    "Missing",
    "NoSuchEntity",
    "UnknownParameter",
    "UnknownVolumeType",
    "Unsupported",
    "VPC",
];

/// What is looked up with values of a spec, and how the codes begin by which EC2 refuses such a value.
const LOOKUPS: &[&str] = &["DescribeImages", "DescribeSecurityGroups", "DescribeSubnets"];
const MISTAKES_OF_LOOKUPS: &[&str] = &[
    "InvalidAMIID.",
    "InvalidFilter",
    "InvalidGroupId.",
    "InvalidParameter",
    "InvalidSubnetID.",
    "InvalidSubnetId.",
];

/// Whether EC2 says that the token was used before, for something else or for what is gone.
pub(super) fn is_spent_token(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if meaning(code) == Some(Meaning::TokenSpent))
}

/// Whether EC2 does not know what was named.
pub(super) fn is_missing(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if meaning(code) == Some(Meaning::Missing))
}

/// Whether the dedicated host of a launch is the trouble: there is none, or it takes nobody.
pub(super) fn blames_host(error: &AwsError) -> bool {
    const CODES: [&str; 3] =
        ["InvalidHostID.NotFound", "InvalidHostId.NotFound", "InvalidHostState"];
    matches!(error, AwsError::Refused { code, .. } if CODES.contains(&code.as_str()))
}

/// Whether EC2 does not know a security group.
pub(super) fn blames_group(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code == "InvalidGroup.NotFound")
}

fn meaning(code: &str) -> Option<Meaning> {
    TABLE.iter().find(|(known, _)| *known == code).map(|(_, meaning)| *meaning)
}

fn meaning_of_words(code: &str, words: &str) -> Option<Meaning> {
    let named = |(known, part, _): &&(&str, &str, Meaning)| *known == code && words.contains(part);
    WORDS.iter().find(named).map(|(_, _, meaning)| *meaning)
}

/// What an error means for the machine that met it.
pub(crate) fn judge(error: &AwsError, at: At<'_>) -> CloudError {
    let message = error.to_string();
    let judged = |class, effect| CloudError { effect, ..CloudError::new(class, message.clone()) };
    match error {
        // Nobody has asked for anything yet: it is about credentials, whatever the code says.
        AwsError::Refused { operation, code, category, .. } if is_of_sts(operation) => {
            match of_category(operation, code, *category, &message, at) {
                error if error.class == ErrorClass::InvalidConfiguration => {
                    judged(ErrorClass::Unauthorised, Effect::None)
                }
                error => error,
            }
        }
        AwsError::Refused { operation, code, message: words, category } => {
            match meaning(code).or_else(|| meaning_of_words(code, words)) {
                Some(meaning) => of_meaning(meaning, &message, at),
                None => of_category(operation, code, *category, &message, at),
            }
        }
        // AWS was not even asked.
        AwsError::NoSuchRegion { .. } => judged(ErrorClass::InvalidConfiguration, Effect::None),
        AwsError::Secret { .. }
        | AwsError::BadSecret { .. }
        | AwsError::NoCertificate
        | AwsError::NotOptedIn { .. }
        | AwsError::Credentials { .. } => match class_of(error.category()) {
            // Somebody can mend that without touching the machine: it must not fail for good.
            ErrorClass::InvalidConfiguration => judged(ErrorClass::Unauthorised, Effect::None),
            class => judged(class, Effect::None),
        },
        // What AWS has not written says nothing about AWS, whatever its status.
        AwsError::Unanswered { .. } | AwsError::Garbled { .. } => {
            judged(ErrorClass::Unavailable, Effect::Unclear)
        }
    }
}

fn of_meaning(meaning: Meaning, message: &str, at: At<'_>) -> CloudError {
    let region = &at.realm.region;
    let (subnet, instance_type) =
        at.launch.map_or(("", ""), |launch| (&launch.subnet, &launch.instance_type));
    let new = |class| CloudError::new(class, message);
    // Elsewhere there may be some.
    let none_left = |domain: String, elsewhere: bool| CloudError {
        effect: if elsewhere { Effect::NoneForThisAttempt } else { Effect::None },
        ..new(ErrorClass::CapacityExhausted).within(domain)
    };
    match meaning {
        Meaning::NotInZone if at.elsewhere() => none_left(at.room(), true),
        Meaning::Mistake | Meaning::NotInZone => new(ErrorClass::InvalidConfiguration),
        Meaning::Missing => new(ErrorClass::NotFound),
        Meaning::ZoneFull => none_left(at.room(), at.elsewhere()),
        Meaning::PriceTooLow => none_left(at.offer(), at.elsewhere()),
        Meaning::SubnetFull => {
            none_left(format!("aws/{region}/{subnet}"), at.elsewhere() || at.other_subnets())
        }
        Meaning::Quota => {
            none_left(format!("aws/{region}/{}/{instance_type}", identity(at.realm)), false)
        }
        Meaning::Busy => CloudError { effect: Effect::None, ..new(ErrorClass::Unavailable) },
        Meaning::TokenSpent => {
            CloudError { effect: Effect::NoneForThisAttempt, ..new(ErrorClass::Unavailable) }
        }
        Meaning::Protected => new(ErrorClass::Unauthorised),
    }
}

fn is_of_sts(operation: &str) -> bool {
    operation.starts_with("AssumeRole")
}

/// Whether a refusal blames a value of the spec. What is only looked at or taken away is named by ids of our own.
fn is_mistake(operation: &str, code: &str) -> bool {
    let is_among = |starts: &[&str]| starts.iter().any(|start| code.starts_with(start));
    match operation {
        _ if LOOKUPS.contains(&operation) => is_among(MISTAKES_OF_LOOKUPS),
        _ if operation.starts_with("Describe") => false,
        "TerminateInstances" | "ReleaseHosts" => false,
        _ => is_among(MISTAKES),
    }
}

fn of_category(
    operation: &str,
    code: &str,
    category: Category,
    message: &str,
    at: At<'_>,
) -> CloudError {
    match category {
        Category::Unexpected if is_mistake(operation, code) => {
            of_meaning(Meaning::Mistake, message, at)
        }
        // A refusal, whatever it means.
        Category::Unexpected => {
            CloudError { effect: Effect::None, ..CloudError::new(ErrorClass::Unknown, message) }
        }
        Category::Throttled => CloudError::new(ErrorClass::Throttled, message).within(format!(
            "aws/{}/{}",
            at.realm.region,
            identity(at.realm)
        )),
        // The account must be subscribed or opted in: that mends it without an edit of the machine.
        Category::InvalidConfiguration => CloudError::new(ErrorClass::Unauthorised, message),
        category => CloudError::new(class_of(category), message),
    }
}

fn class_of(category: Category) -> ErrorClass {
    match category {
        Category::InvalidConfiguration => ErrorClass::InvalidConfiguration,
        Category::NotFound => ErrorClass::NotFound,
        Category::CapacityExhausted => ErrorClass::CapacityExhausted,
        Category::Throttled => ErrorClass::Throttled,
        Category::Unauthorised => ErrorClass::Unauthorised,
        Category::Unavailable | Category::Conflict | Category::NotLeader => ErrorClass::Unavailable,
        Category::Unexpected => ErrorClass::Unknown,
    }
}

/// Whose calls are counted together.
fn identity(realm: &Realm) -> String {
    match &realm.credentials {
        Credentials::Ambient => "ambient".to_owned(),
        Credentials::Secret { key, .. } => format!("secret {key}"),
    }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
