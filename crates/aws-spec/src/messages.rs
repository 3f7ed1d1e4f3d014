//! Problems of AWS provider specs, which are printed behind the path of the field. The snapshots are in `config`.

use std::fmt::Display;

use machinist_domain::texts;

pub(crate) const REQUIRED: &str = "is required";
pub(crate) const NO_IMAGE: &str = "is required unless ami.filters is set";
pub(crate) const TYPE: &str = "must be a type of EC2, such as m6i.large";
pub(crate) const SECOND_ROOT: &str =
    "must have a deviceName: only the root volume may have none, and another entry has none";
pub(crate) const LOAD_BALANCER: &str = "must have 1 to 32 letters, digits and hyphens";
pub(crate) const LOAD_BALANCER_TYPE: &str = "must be classic or network";
pub(crate) const REGION: &str = "must be a region such as eu-west-1";
pub(crate) const ZONE: &str = "must be a zone such as eu-west-1a";
pub(crate) const TAG_NAME: &str = "must have 1 to 128 characters";
pub(crate) const RESERVED_TAG: &str = "must not begin with aws:, which is AWS's own";
pub(crate) const NO_VALUE: &str = "must have a value";
pub(crate) const PROFILE: &str = "must be the name of an instance profile";
pub(crate) const SECRET: &str = "must be the name of a Secret";
pub(crate) const KEY_PAIR: &str = "must have 1 to 255 characters, or be left out";
pub(crate) const NEGATIVE: &str = "must be 0 to 2147483647";
pub(crate) const NO_SECURITY_GROUP: &str = "must have an id or filters";
pub(crate) const DEVICE: &str = "must be a device such as /dev/xvdb";
pub(crate) const NO_IOPS: &str = "is required by io1 and io2";
pub(crate) const KEY: &str = "must be the id, ARN or alias of a KMS key, such as alias/NAME";
pub(crate) const KEY_ARN: &str =
    "must be the ARN of a KMS key or alias, such as arn:aws:kms:REGION:ACCOUNT:key/ID";
pub(crate) const NO_RESERVATION: &str = "CapacityBlock needs a capacityReservationId";
pub(crate) const SPOT_RESERVATION: &str = "a spot instance cannot use a capacity reservation; \
    remove capacityReservationId, or marketType Spot and spotMarketOptions";
pub(crate) const RESERVATION: &str = "must be cr- and 17 hex digits";
pub(crate) const PRICE: &str = "must be a decimal number above 0";
pub(crate) const NO_PLACEMENT_GROUP: &str = "needs a placementGroupName";
pub(crate) const HOST_TENANCY_ONLY: &str = "is for the tenancy host only";
pub(crate) const DYNAMIC_AFFINITY: &str = "must be DedicatedHost where the host is Dynamic";
pub(crate) const NO_AFFINITY: &str = "is required: AnyAvailable or DedicatedHost";
pub(crate) const AFFINITY: &str = "must be AnyAvailable or DedicatedHost";
pub(crate) const NO_HOST: &str = "is required by the affinity DedicatedHost";
pub(crate) const DYNAMIC_ONLY: &str = "is for the strategy Dynamic only";
pub(crate) const DYNAMIC_WITH_ID: &str = "must be left out with the strategy Dynamic";
pub(crate) const NO_TAG: &str = "must have a tag";
pub(crate) const NO_CPU_OPTION: &str = "must set at least one field, or be left out";
pub(crate) const CONFIDENTIAL: &str = "must be Disabled or AMDEncryptedVirtualizationNestedPaging";

texts! {
    pub(crate) fn id(prefix: &str) = "must be {prefix}- and 8 or 17 hex digits";
    pub(crate) fn between(least: impl Display, most: impl Display) = "must be {least} to {most}";
    pub(crate) fn longest(characters: usize) = "must have at most {characters} characters";
    pub(crate) fn too_many(most: usize) = "must have at most {most} tags";
    pub(crate) fn gp3_only(kind: &str) =
        "needs volumeType gp3 (got {kind:?}); remove it, or change the type";
    pub(crate) fn spot_options(market: &str) = "{market} cannot go with spotMarketOptions";
    pub(crate) fn got(wrong: &str, value: impl Display) = "{wrong} (got {value})";
    pub(crate) fn got_length(wrong: &str, length: usize) = "{wrong} (got {length} characters)";
}

/// `must be A, B or C, or left out`.
pub(crate) fn choice(allowed: &[&str]) -> String {
    let (last, first) = allowed.split_last().unwrap_or((&"", &[]));
    format!("must be {} or {last}, or left out", first.join(", "))
}
