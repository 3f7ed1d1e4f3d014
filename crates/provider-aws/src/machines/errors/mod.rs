//! Classifies AWS errors for Machines: class, effect and failure domain. A code that is not in the table is classified
//! by its form. Throttling, timeouts and outages are never invalid configuration.

use machinist_aws_spec::config::Market;
use machinist_domain::retry::{Category, Failure};
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};

use crate::client::identity;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::launch::Launch;

impl Ec2 {
    pub(crate) fn classify(&self, error: &AwsError) -> CloudError {
        classify(error, ErrorContext::of(&self.access))
    }

    /// An error of an instance or its host.
    pub(crate) fn classify_launch(&self, error: &AwsError, launch: &Launch) -> CloudError {
        classify(error, ErrorContext { access: &self.access, launch: Some(launch) })
    }
}

/// An error without an effect, whatever its class.
pub(crate) fn no_effect(class: ErrorClass, message: impl Into<String>) -> CloudError {
    CloudError { effect: Effect::None, ..CloudError::new(class, message) }
}

/// What the call needs could not be read. A missing right stays one: it is no outage.
pub(crate) fn not_sent(failure: Failure) -> CloudError {
    no_effect(failure.category, failure.message)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorContext<'a> {
    pub(crate) access: &'a CloudAccess,
    pub(crate) launch: Option<&'a Launch>,
}

impl<'a> ErrorContext<'a> {
    pub(crate) fn of(access: &'a CloudAccess) -> Self {
        Self { access, launch: None }
    }

    fn elsewhere(self) -> bool {
        self.launch.is_some_and(|launch| launch.elsewhere)
    }

    fn other_subnets(self) -> bool {
        self.launch.is_some_and(|launch| launch.other_subnets)
    }

    /// Type and zone, narrowed by what else limits the capacity.
    fn capacity_domain(self) -> String {
        let region = &self.access.region;
        let Some(launch) = self.launch else { return format!("aws/{region}") };
        let market = launch.market.as_ref().map(|terms| match terms {
            Market::Spot { .. } => "spot",
            Market::CapacityBlock => "capacity block",
        });
        let (place, reservation) = (&launch.placement, launch.capacity_reservation.as_deref());
        let tenancy = place.tenancy.as_deref().filter(|tenancy| *tenancy != "default");
        let narrower =
            [market, tenancy, place.host.as_deref(), reservation, place.group.as_deref()];
        let mut domain = format!("aws/{region}/{}/{}", launch.zone, launch.instance_type);
        for part in narrower.into_iter().flatten() {
            domain.push('/');
            domain.push_str(part);
        }
        domain
    }

    fn price_domain(self) -> String {
        let price = match self.launch.and_then(|launch| launch.market.as_ref()) {
            Some(Market::Spot { max_price }) => max_price.as_deref(),
            Some(Market::CapacityBlock) | None => None,
        };
        format!("{}/for {}", self.capacity_domain(), price.unwrap_or("the usual price"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Invalid,
    /// The named object does not exist, or not yet.
    Missing,
    ZoneFull,
    PriceTooLow,
    SubnetFull,
    Quota,
    NotInZone,
    /// A concurrent change; it passes.
    Busy,
    /// The token was used for another request, or its instance is gone.
    TokenSpent,
    /// Termination protection.
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
    // It may not be known everywhere yet.
    ("InvalidGroup.NotFound", Meaning::Missing),
    // EC2 uses both spellings.
    ("InvalidHostID.NotFound", Meaning::Missing),
    ("InvalidHostId.NotFound", Meaning::Missing),
    ("InvalidHostState", Meaning::Busy),
    ("InvalidInstance", Meaning::Busy),
    ("InvalidInstanceID.Malformed", Meaning::Missing),
    ("InvalidInstanceID.NotFound", Meaning::Missing),
    ("InvalidNextToken", Meaning::Busy),
    ("InvalidPaginationToken", Meaning::Busy),
    // The placement group is in another zone.
    ("InvalidPlacementGroup.InUse", Meaning::NotInZone),
    ("InvalidState", Meaning::Busy),
    // The instance does not run yet.
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
    ("TagLimitExceeded", Meaning::Invalid),
    ("TargetGroupNotFound", Meaning::Missing),
    ("TooManyRegistrationsForTargetId", Meaning::Quota),
    ("TooManyTargets", Meaning::Quota),
    ("Unsupported", Meaning::NotInZone),
    ("UnsupportedHostConfiguration", Meaning::NotInZone),
    ("VcpuLimitExceeded", Meaning::Quota),
    ("VolumeIOPSLimit", Meaning::Quota),
    ("VolumeLimitExceeded", Meaning::Quota),
];

const INVALID_PREFIXES: &[&str] = &[
    "Invalid",
    "Malformed",
    "Missing",
    "NoSuchEntity",
    "UnknownParameter",
    "UnknownVolumeType",
    "Unsupported",
    "VPC",
];

/// Lookups with values of a spec, and the prefixes of codes that refuse such a value.
const LOOKUPS: &[&str] = &["DescribeImages", "DescribeSecurityGroups", "DescribeSubnets"];
const INVALID_LOOKUP_PREFIXES: &[&str] = &[
    "InvalidAMIID.",
    "InvalidFilter",
    "InvalidGroupId.",
    "InvalidParameter",
    "InvalidSubnetID.",
    "InvalidSubnetId.",
];

pub(crate) fn is_spent_token(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if meaning(code) == Some(Meaning::TokenSpent))
}

pub(crate) fn is_missing(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if meaning(code) == Some(Meaning::Missing))
}

pub(crate) fn blames_host(error: &AwsError) -> bool {
    let codes = ["InvalidHostID.NotFound", "InvalidHostId.NotFound", "InvalidHostState"];
    codes.iter().any(|code| error.has_code(code))
}

fn meaning(code: &str) -> Option<Meaning> {
    TABLE.iter().find(|(known, _)| *known == code).map(|(_, meaning)| *meaning)
}

pub(crate) fn classify(error: &AwsError, at: ErrorContext<'_>) -> CloudError {
    let message = error.to_string();
    let classified =
        |class, effect| CloudError { effect, ..CloudError::new(class, message.clone()) };
    match error {
        AwsError::Refused { operation, code, message: words, category } => {
            // A new profile takes some seconds to reach EC2.
            let no_profile =
                code == "InvalidParameterValue" && words.contains("iamInstanceProfile");
            let meaning = meaning(code).or(no_profile.then_some(Meaning::Missing));
            match meaning.filter(|_| !is_of_sts(operation)) {
                Some(meaning) => of_meaning(meaning, &message, at),
                None => of_category(operation, code, *category, &message, at),
            }
        }
        // No request was sent.
        AwsError::NoSuchRegion(_) => classified(ErrorClass::InvalidConfiguration, Effect::None),
        AwsError::Access(failure) => match failure.category {
            // It can be fixed without an edit of the Machine, which must not fail for good.
            ErrorClass::InvalidConfiguration => classified(ErrorClass::Unauthorised, Effect::None),
            class => classified(class, Effect::None),
        },
        // The response is not from AWS, whatever its status.
        AwsError::NoResponse { .. } | AwsError::InvalidResponse { .. } => {
            classified(ErrorClass::Unavailable, Effect::Unclear)
        }
    }
}

fn of_meaning(meaning: Meaning, message: &str, at: ErrorContext<'_>) -> CloudError {
    let region = &at.access.region;
    let (subnet, instance_type) =
        at.launch.map_or(("", ""), |launch| (&launch.subnet, &launch.instance_type));
    let new = |class| CloudError::new(class, message);
    let none_left = |domain: String, elsewhere: bool| CloudError {
        effect: if elsewhere { Effect::NoneForThisAttempt } else { Effect::None },
        ..new(ErrorClass::CapacityExhausted).within(domain)
    };
    match meaning {
        Meaning::NotInZone if at.elsewhere() => none_left(at.capacity_domain(), true),
        Meaning::Invalid | Meaning::NotInZone => new(ErrorClass::InvalidConfiguration),
        Meaning::Missing => new(ErrorClass::NotFound),
        Meaning::ZoneFull => none_left(at.capacity_domain(), at.elsewhere()),
        Meaning::PriceTooLow => none_left(at.price_domain(), at.elsewhere()),
        Meaning::SubnetFull => {
            none_left(format!("aws/{region}/{subnet}"), at.elsewhere() || at.other_subnets())
        }
        Meaning::Quota => none_left(
            format!("aws/{region}/{}/{instance_type}", identity(&at.access.credentials)),
            false,
        ),
        Meaning::Busy => no_effect(ErrorClass::Unavailable, message),
        Meaning::TokenSpent => {
            CloudError { effect: Effect::NoneForThisAttempt, ..new(ErrorClass::Unavailable) }
        }
        Meaning::Protected => new(ErrorClass::Unauthorised),
    }
}

fn is_of_sts(operation: &str) -> bool {
    operation.starts_with("AssumeRole")
}

/// Whether a value of the spec is refused. Reads and deletes use ids of our own.
fn is_invalid_value(operation: &str, code: &str) -> bool {
    let is_among = |starts: &[&str]| starts.iter().any(|start| code.starts_with(start));
    match operation {
        _ if LOOKUPS.contains(&operation) => is_among(INVALID_LOOKUP_PREFIXES),
        _ if operation.starts_with("Describe") => false,
        "TerminateInstances" | "ReleaseHosts" => false,
        _ => is_among(INVALID_PREFIXES),
    }
}

fn of_category(
    operation: &str,
    code: &str,
    category: Category,
    message: &str,
    at: ErrorContext<'_>,
) -> CloudError {
    match category {
        Category::Unexpected if is_invalid_value(operation, code) => {
            // STS refuses credentials and not values of the spec.
            let is_sts = is_of_sts(operation);
            let class =
                if is_sts { ErrorClass::Unauthorised } else { ErrorClass::InvalidConfiguration };
            CloudError::new(class, message)
        }
        Category::Unexpected => no_effect(ErrorClass::Unexpected, message),
        // Requests of one identity are throttled together.
        Category::Throttled => {
            let CloudAccess { region, credentials, .. } = at.access;
            let domain = format!("aws/{region}/{}", identity(credentials));
            CloudError::new(ErrorClass::Throttled, message).within(domain)
        }
        // A subscription or opt-in of the account fixes it without an edit of the Machine.
        Category::InvalidConfiguration => CloudError::new(ErrorClass::Unauthorised, message),
        category => CloudError::new(category, message),
    }
}

#[cfg(test)]
mod tests;
