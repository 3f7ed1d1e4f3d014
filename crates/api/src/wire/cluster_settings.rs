//! Cluster-wide settings: ConfigMaps with certificates, Infrastructures, and the Leases of other controllers.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Metadata;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CertificatesConfigMap {
    pub metadata: Metadata,
    pub data: CertificatesData,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CertificatesData {
    #[serde(rename = "ca-bundle.pem")]
    pub ca_bundle: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lease {
    pub metadata: Metadata,
    pub spec: LeaseSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// The holder; empty after a release.
    pub holder_identity: Option<String>,
    /// When the holder last renewed it, by the holder's clock.
    pub renew_time: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Infrastructure {
    pub metadata: Metadata,
    pub status: InfrastructureStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureStatus {
    pub platform_status: PlatformStatus,
}

/// `status.platformStatus` of an Infrastructure: the whole, which providers read for themselves, and the parts that are
/// read here.
#[derive(Debug, Default)]
pub struct PlatformStatus {
    pub raw: Option<Box<RawValue>>,
    pub platform: String,
    pub aws: AwsPlatformStatus,
}

impl<'de> Deserialize<'de> for PlatformStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Parts {
            #[serde(rename = "type")]
            platform: String,
            aws: AwsPlatformStatus,
        }

        let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let Parts { platform, aws } = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self { raw: Some(raw), platform, aws })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsPlatformStatus {
    pub service_endpoints: Vec<ServiceEndpoint>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServiceEndpoint {
    pub name: String,
    pub url: String,
}
