use machinist_provider::spec::{self, SpecError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with::apply;

use super::or_default;
use super::placement::Placement;
use super::volumes::BlockDevice;

#[apply(_ => #[serde(deserialize_with = "or_default")])]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderConfig {
    pub(crate) kind: Option<String>,
    /// The image: an id, or filters, of which the newest match is used.
    pub ami: ResourceReference,
    pub instance_type: String,
    pub tags: Vec<Tag>,
    /// The instance profile; its id is used as the name.
    pub iam_instance_profile: Option<ResourceReference>,
    /// The Secret with the user data, under the key `userData`.
    pub user_data_secret: Option<LocalReference>,
    /// The Secret with credentials; `None`: those of the process.
    pub credentials_secret: Option<LocalReference>,
    pub key_name: Option<String>,
    pub device_index: i64,
    /// Whether it gets a public address; `None`: as configured in the subnet.
    pub public_ip: Option<bool>,
    /// `ENA`, `EFA` or empty.
    pub network_interface_type: String,
    pub security_groups: Vec<ResourceReference>,
    pub subnet: ResourceReference,
    pub placement: Placement,
    pub load_balancers: Vec<LoadBalancer>,
    pub block_devices: Vec<BlockDevice>,
    pub spot_market_options: Option<SpotOptions>,
    pub metadata_service_options: MetadataOptions,
    pub placement_group_name: String,
    pub placement_group_partition: Option<i32>,
    pub capacity_reservation_id: String,
    /// `OnDemand`, `Spot`, `CapacityBlock` or empty.
    pub market_type: String,
    pub cpu_options: Option<CpuOptions>,
}

/// A purchase option other than on demand, as stored for a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Market {
    #[serde(rename_all = "camelCase")]
    Spot {
        max_price: Option<String>,
    },
    CapacityBlock,
}

impl ProviderConfig {
    /// Spot options alone mean spot.
    pub fn market(&self) -> Option<Market> {
        let options = self.spot_market_options.as_ref();
        match self.market_type.as_str() {
            "CapacityBlock" => return Some(Market::CapacityBlock),
            "Spot" => {}
            "" if options.is_some() => {}
            _ => return None,
        }
        let price = options.and_then(|options| options.max_price.clone());
        Some(Market::Spot { max_price: price.filter(|price| !price.is_empty()) })
    }

    pub fn user_data_secret(&self) -> Option<&str> {
        let secret = self.user_data_secret.as_ref()?;
        Some(secret.name.as_str()).filter(|name| !name.is_empty())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct ResourceReference {
    pub id: Option<String>,
    pub arn: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub filters: Vec<Filter>,
}

impl ResourceReference {
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| !id.is_empty())
    }

    pub fn arn(&self) -> Option<&str> {
        self.arn.as_deref().filter(|arn| !arn.is_empty())
    }
}

#[apply(_ => #[serde(deserialize_with = "or_default")])]
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct Filter {
    pub name: String,
    pub values: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LocalReference {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

#[apply(_ => #[serde(deserialize_with = "or_default")])]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Tag {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadBalancer {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// `classic` or `network`.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
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

    /// Whether its targets are instances; a network load balancer has target groups.
    pub fn is_classic(&self) -> bool {
        self.kind == "classic"
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SpotOptions {
    /// The maximum hourly price; `None`: the on-demand price.
    pub max_price: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MetadataOptions {
    /// `Optional`, `Required` or empty.
    #[serde(deserialize_with = "or_default")]
    pub authentication: String,
}

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
