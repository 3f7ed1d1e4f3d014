use std::ops::RangeInclusive;

use serde::Deserialize;

use super::machine::ResourceReference;
use super::or_default;

/// The sizes of all volume types, in GiB.
pub const SIZES: RangeInclusive<i64> = 1..=65_536;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlockDevice {
    /// As `/dev/xvdb`; missing or empty: the root volume.
    pub device_name: Option<String>,
    /// The volume. An entry without one is ignored.
    pub ebs: Option<Ebs>,
}

impl BlockDevice {
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
    pub volume_type: Option<String>,
    pub iops: Option<i64>,
    pub throughput_mib: Option<i32>,
    /// Whether it is encrypted; `None`: the account's default.
    pub encrypted: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub kms_key: ResourceReference,
}

impl Ebs {
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

    pub fn iops(&self) -> Option<i64> {
        let has = matches!(self.kind(), Some("io1" | "io2" | "gp3"));
        self.iops.filter(|iops| has && *iops > 0)
    }

    pub fn throughput(&self) -> Option<i32> {
        self.throughput_mib.filter(|_| self.kind() == Some("gp3"))
    }

    pub fn kms_key(&self) -> Option<&str> {
        self.kms_key.id().or_else(|| self.kms_key.arn())
    }
}
