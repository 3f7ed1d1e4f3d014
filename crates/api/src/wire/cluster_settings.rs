//! Cluster-wide settings: ConfigMaps with certificates, Infrastructures, FeatureGates, and the Leases of other
//! controllers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Metadata, Object, Raw, lenient};

/// The switch that stops all changes by its existence.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct FreezeConfigMap {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub data: BTreeMap<String, String>,
}

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

pub type Lease = Object<LeaseSpec>;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// The holder; empty after a release.
    pub holder_identity: Option<String>,
    /// When the holder last renewed it, by the holder's clock.
    pub renew_time: Option<String>,
}

pub type Infrastructure = Object<IgnoredAny, InfrastructureStatus>;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureStatus {
    /// The whole too, which providers read for themselves.
    pub platform_status: Raw<PlatformStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlatformStatus {
    #[serde(rename = "type")]
    pub platform: String,
    pub aws: AwsPlatformStatus,
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

pub type FeatureGate = Object<IgnoredAny, FeatureGateStatus>;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeatureGateStatus {
    /// One entry per version of OpenShift; several during an upgrade.
    #[serde(deserialize_with = "lenient::or_default")]
    pub feature_gates: Vec<VersionGates>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct VersionGates {
    #[serde(deserialize_with = "lenient::or_default")]
    pub enabled: Vec<GateName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct GateName {
    pub name: String,
}
