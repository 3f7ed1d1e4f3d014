//! Cluster-wide settings: ConfigMaps with certificates, Infrastructures, and the Leases of other controllers.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Metadata;

/// A ConfigMap with additional certificates.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CertificatesConfigMap {
    /// The metadata.
    pub metadata: Metadata,
    /// The data.
    pub data: CertificatesData,
}

/// `data` of a ConfigMap with additional certificates.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CertificatesData {
    /// Certificates in PEM.
    #[serde(rename = "ca-bundle.pem")]
    pub ca_bundle: Option<String>,
}

/// The holder of a Lease.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// The metadata.
    pub metadata: Metadata,
    /// The spec.
    pub spec: LeaseSpec,
}

/// `spec` of a Lease.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// The holder; empty after a release.
    pub holder_identity: Option<String>,
    /// When the holder last renewed it, by the holder's clock.
    pub renew_time: Option<String>,
}

/// OpenShift's description of the platform.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Infrastructure {
    /// The metadata.
    pub metadata: Metadata,
    /// The observed state.
    pub status: InfrastructureStatus,
}

/// `status` of an Infrastructure.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureStatus {
    /// The platform.
    pub platform_status: PlatformStatus,
}

/// `status.platformStatus` of an Infrastructure: the whole, which providers read for themselves, and the parts that are
/// read here.
#[derive(Debug, Default)]
pub struct PlatformStatus {
    /// The raw value, if any.
    pub raw: Option<Box<RawValue>>,
    /// The cloud, such as `AWS`.
    pub platform: String,
    /// The part about AWS.
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

/// `status.platformStatus.aws` of an Infrastructure.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsPlatformStatus {
    /// Custom service endpoints.
    pub service_endpoints: Vec<ServiceEndpoint>,
}

/// A custom service endpoint.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServiceEndpoint {
    /// The service, such as `ec2`.
    pub name: String,
    /// Its address.
    pub url: String,
}
