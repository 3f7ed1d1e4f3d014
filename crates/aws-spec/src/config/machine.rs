//! The provider spec and its references.

use machinist_provider::spec::{self, SpecError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::or_default;
use super::placement::Placement;
use super::volumes::BlockDevice;

/// The spec of an EC2 instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfig {
    pub(crate) kind: Option<String>,
    /// The image: an id, or filters, of which the newest match is used.
    #[serde(deserialize_with = "or_default")]
    pub ami: ResourceReference,
    /// The type, such as `m6i.large`.
    #[serde(deserialize_with = "or_default")]
    pub instance_type: String,
    /// Tags beside those that machinist sets.
    #[serde(deserialize_with = "or_default")]
    pub tags: Vec<Tag>,
    /// The instance profile; its id is used as the name.
    pub iam_instance_profile: Option<ResourceReference>,
    /// The Secret with the user data, under the key `userData`.
    pub user_data_secret: Option<LocalReference>,
    /// The Secret with credentials; `None`: those of the process.
    pub credentials_secret: Option<LocalReference>,
    /// The key pair for SSH.
    pub key_name: Option<String>,
    /// The index of the network interface.
    #[serde(deserialize_with = "or_default")]
    pub device_index: i64,
    /// Whether it gets a public address; `None`: as configured in the subnet.
    pub public_ip: Option<bool>,
    /// `ENA`, `EFA` or empty.
    #[serde(deserialize_with = "or_default")]
    pub network_interface_type: String,
    /// Security groups, by id or filters.
    #[serde(deserialize_with = "or_default")]
    pub security_groups: Vec<ResourceReference>,
    /// The subnet, by id or filters.
    #[serde(deserialize_with = "or_default")]
    pub subnet: ResourceReference,
    /// Region, zone, tenancy and host.
    #[serde(deserialize_with = "or_default")]
    pub placement: Placement,
    /// The load balancers to register with.
    #[serde(deserialize_with = "or_default")]
    pub load_balancers: Vec<LoadBalancer>,
    /// Volumes.
    #[serde(deserialize_with = "or_default")]
    pub block_devices: Vec<BlockDevice>,
    /// Spot options.
    pub spot_market_options: Option<SpotOptions>,
    /// The instance's metadata service.
    #[serde(deserialize_with = "or_default")]
    pub metadata_service_options: MetadataOptions,
    /// The placement group.
    #[serde(deserialize_with = "or_default")]
    pub placement_group_name: String,
    /// The partition within the placement group, from 1 to 7.
    pub placement_group_partition: Option<i32>,
    /// The capacity reservation, `cr-…`.
    #[serde(deserialize_with = "or_default")]
    pub capacity_reservation_id: String,
    /// `OnDemand`, `Spot`, `CapacityBlock` or empty.
    #[serde(deserialize_with = "or_default")]
    pub market_type: String,
    /// The processor's options.
    pub cpu_options: Option<CpuOptions>,
}

/// The purchase option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Market {
    /// On demand.
    OnDemand,
    /// Spot.
    Spot,
    /// A capacity block.
    CapacityBlock,
}

impl ProviderConfig {
    /// The purchase option. Spot options alone mean spot.
    pub fn market(&self) -> Market {
        match self.market_type.as_str() {
            "CapacityBlock" => Market::CapacityBlock,
            "Spot" => Market::Spot,
            "" if self.spot_market_options.is_some() => Market::Spot,
            _ => Market::OnDemand,
        }
    }

    /// The name of the Secret with the user data.
    pub fn user_data_secret(&self) -> Option<&str> {
        self.user_data_secret.as_ref()?.name()
    }
}

/// An AWS resource: an id, an ARN, or filters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResourceReference {
    /// The id.
    pub id: Option<String>,
    /// The ARN.
    pub arn: Option<String>,
    /// The filters.
    #[serde(deserialize_with = "or_default")]
    pub filters: Vec<Filter>,
}

impl ResourceReference {
    /// The id, unless empty.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| !id.is_empty())
    }

    /// The ARN, unless empty.
    pub fn arn(&self) -> Option<&str> {
        self.arn.as_deref().filter(|arn| !arn.is_empty())
    }
}

/// A filter: one of the values matches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// The name, as `tag:Name`.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The values.
    #[serde(deserialize_with = "or_default")]
    pub values: Vec<String>,
}

/// An object in the Machine's namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LocalReference {
    /// The name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

impl LocalReference {
    /// The name, unless empty.
    pub fn name(&self) -> Option<&str> {
        Some(self.name.as_str()).filter(|name| !name.is_empty())
    }
}

/// A tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Tag {
    /// The key.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The value.
    #[serde(deserialize_with = "or_default")]
    pub value: String,
}

/// A load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LoadBalancer {
    /// The name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// `classic` or `network`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
}

/// Types of load balancers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadBalancerKind {
    /// Classic: its targets are instances.
    Classic,
    /// Network: it has target groups.
    Network,
}

impl LoadBalancer {
    /// The load balancers of a spec that may be invalid otherwise.
    pub fn all_of(spec: &RawValue) -> Result<Vec<Self>, SpecError> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Only {
            #[serde(deserialize_with = "or_default")]
            load_balancers: Vec<LoadBalancer>,
        }
        Ok(spec::read::<Only>(spec)?.load_balancers)
    }

    /// The type, if it is valid.
    pub fn kind(&self) -> Option<LoadBalancerKind> {
        match self.kind.as_str() {
            "classic" => Some(LoadBalancerKind::Classic),
            "network" => Some(LoadBalancerKind::Network),
            _ => None,
        }
    }
}

/// Options of a spot instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpotOptions {
    /// The maximum hourly price; `None`: the on-demand price.
    pub max_price: Option<String>,
}

/// Options of the metadata service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MetadataOptions {
    /// `Optional`, `Required` or empty.
    #[serde(deserialize_with = "or_default")]
    pub authentication: String,
}

/// Options of the processor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CpuOptions {
    /// `Disabled` or `AMDEncryptedVirtualizationNestedPaging`.
    pub confidential_compute: Option<String>,
}

impl CpuOptions {
    /// Whether AMD SEV-SNP is requested; `None`: not specified.
    pub fn sev_snp(&self) -> Option<bool> {
        match self.confidential_compute.as_deref() {
            Some("AMDEncryptedVirtualizationNestedPaging") => Some(true),
            Some("Disabled") => Some(false),
            _ => None,
        }
    }
}
