//! Volumes.

use std::ops::RangeInclusive;

use serde::Deserialize;

use super::machine::ResourceReference;
use super::or_default;

/// The sizes of all volume types, in GiB.
pub const SIZES: RangeInclusive<i64> = 1..=65_536;

/// A volume and its device name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlockDevice {
    /// As `/dev/xvdb`; missing or empty: the root volume.
    pub device_name: Option<String>,
    /// The volume. An entry without one is ignored.
    pub ebs: Option<Ebs>,
}

impl BlockDevice {
    /// The name; `None` for the root volume.
    pub fn name(&self) -> Option<&str> {
        self.device_name.as_deref().filter(|name| !name.is_empty())
    }
}

/// An EBS volume. It is deleted with the instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ebs {
    /// GiB; `None`: the size of the snapshot.
    pub volume_size: Option<i64>,
    /// `gp2`, `gp3`, `io1`, `io2`, `st1`, `sc1`, `standard`.
    pub volume_type: Option<String>,
    /// Operations per second.
    pub iops: Option<i64>,
    /// MiB per second, for gp3.
    pub throughput_mib: Option<i32>,
    /// Whether it is encrypted; `None`: the account's default.
    pub encrypted: Option<bool>,
    /// The KMS key, by id or ARN.
    #[serde(deserialize_with = "or_default")]
    pub kms_key: ResourceReference,
}

impl Ebs {
    /// The type, unless empty.
    pub fn kind(&self) -> Option<&str> {
        self.volume_type.as_deref().filter(|kind| !kind.is_empty())
    }

    /// The valid sizes in GiB. Without a type, those of all types, because the image may specify one.
    pub fn sizes(&self) -> RangeInclusive<i64> {
        match self.kind() {
            Some("gp2") => 1..=16_384,
            Some("io1") => 4..=16_384,
            Some("io2") => 4..=65_536,
            Some("st1" | "sc1") => 125..=16_384,
            Some("standard") => 1..=1024,
            _ => SIZES,
        }
    }

    /// IOPS, for types that support them.
    pub fn iops(&self) -> Option<i64> {
        let has = matches!(self.kind(), Some("io1" | "io2" | "gp3"));
        self.iops.filter(|iops| has && *iops > 0)
    }

    /// MiB per second, for types that support it.
    pub fn throughput(&self) -> Option<i32> {
        self.throughput_mib.filter(|_| self.kind() == Some("gp3"))
    }

    /// The KMS key, unless empty.
    pub fn kms_key(&self) -> Option<&str> {
        self.kms_key.id().or_else(|| self.kms_key.arn())
    }
}
