//! Objects that determine access to a cloud (Secrets, certificates, endpoints), the Lease of another annotator, and
//! OpenShift's feature gates.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_HOLDER, GATE_MIGRATION};
use machinist_api::resource::{
    CONFIG_MAPS, FEATURE_GATES, INFRASTRUCTURES, LEASES, Resource, SECRETS,
};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::Kind;
use serde_json::value::RawValue;

/// Secrets: identity and version only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secrets;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Leases;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Certificates;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Infrastructures;

#[derive(Debug, Clone, Copy)]
pub(crate) struct FeatureGates;

#[derive(Debug)]
pub(crate) struct Lease {
    pub(super) meta: Meta,
    /// Whether a holder other than machinist has it.
    pub(crate) held: bool,
    /// Its renew time; `None` if it cannot be parsed.
    pub(crate) renewed: Option<Timestamp>,
}

#[derive(Debug)]
pub(crate) struct CertificateMap {
    pub(super) meta: Meta,
    pub(crate) ca_bundle: Option<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct Infrastructure {
    pub(super) meta: Meta,
    /// Endpoints that are not the default, by service.
    endpoints: Vec<(String, Arc<str>)>,
    /// The platform of the cluster, such as `AWS`; empty if it is not set.
    pub(crate) platform: Arc<str>,
    pub(crate) platform_status: Option<Arc<RawValue>>,
}

#[derive(Debug)]
pub(crate) struct FeatureGate {
    pub(super) meta: Meta,
    /// Whether MachineAPIMigration is enabled in any version that OpenShift lists. Which of them a controller outside
    /// of OpenShift's release belongs to is not known, and an object of the other API must not be touched.
    pub(crate) migration: bool,
}

impl Infrastructure {
    pub(crate) fn endpoint(&self, service: &str) -> Option<Arc<str>> {
        let found = self.endpoints.iter().find(|(name, _)| name == service);
        found.map(|(_, url)| Arc::clone(url))
    }
}

impl Kind for Secrets {
    type Wire = wire::MetadataOnly;
    type Stored = Meta;
    const RESOURCE: Resource = SECRETS;
    const METADATA_ONLY: bool = true;

    fn project(&self, wire: wire::MetadataOnly) -> Meta {
        Meta::of(&wire.metadata)
    }
}

impl Kind for Leases {
    type Wire = wire::Lease;
    type Stored = Lease;
    const RESOURCE: Resource = LEASES;

    fn project(&self, wire: wire::Lease) -> Lease {
        Lease {
            meta: Meta::of(&wire.metadata),
            held: wire.spec.holder_identity.is_some_and(|holder| {
                !holder.is_empty()
                    && wire.metadata.annotations.get(ANNOTATION_HOLDER) != Some(&holder)
            }),
            renewed: wire.spec.renew_time.and_then(|time| time.parse().ok()),
        }
    }
}

impl Kind for Certificates {
    type Wire = wire::CertificatesConfigMap;
    type Stored = CertificateMap;
    const RESOURCE: Resource = CONFIG_MAPS;

    fn project(&self, wire: wire::CertificatesConfigMap) -> CertificateMap {
        let ca_bundle = wire.data.ca_bundle.filter(|pem| !pem.trim().is_empty()).map(Into::into);
        CertificateMap { meta: Meta::of(&wire.metadata), ca_bundle }
    }
}

impl Kind for Infrastructures {
    type Wire = wire::Infrastructure;
    type Stored = Infrastructure;
    const RESOURCE: Resource = INFRASTRUCTURES;

    fn project(&self, wire: wire::Infrastructure) -> Infrastructure {
        let platform = wire.status.platform_status;
        let endpoints = platform.parts.aws.service_endpoints.into_iter();
        let endpoints = endpoints.filter(|endpoint| !endpoint.url.is_empty());
        Infrastructure {
            meta: Meta::of(&wire.metadata),
            endpoints: endpoints.map(|endpoint| (endpoint.name, endpoint.url.into())).collect(),
            platform: platform.parts.platform.into(),
            platform_status: platform.raw.map(Into::into),
        }
    }
}

impl Kind for FeatureGates {
    type Wire = wire::FeatureGate;
    type Stored = FeatureGate;
    const RESOURCE: Resource = FEATURE_GATES;

    fn project(&self, wire: wire::FeatureGate) -> FeatureGate {
        let mut enabled = wire.status.feature_gates.iter().flat_map(|version| &version.enabled);
        FeatureGate {
            meta: Meta::of(&wire.metadata),
            migration: enabled.any(|gate| gate.name == GATE_MIGRATION),
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use machinist_testbed::fuzz::{done, feed};
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_endpoint_of_the_service_that_is_asked_for() {
        let endpoints = json!([
            {"name": "s3", "url": "https://s3"},
            {"name": "ec2", "url": ""},
            {"name": "ec2", "url": "https://ec2"},
        ]);
        let status = json!({"platformStatus": {"aws": {"serviceEndpoints": endpoints}}});
        let wire = json!({"metadata": {"name": "cluster"}, "status": status}).to_string();
        let infrastructure = Infrastructures.project(serde_json::from_str(&wire).unwrap());
        assert_eq!(infrastructure.endpoint("ec2").as_deref(), Some("https://ec2"));
        assert_eq!(infrastructure.endpoint("iam"), None);
    }

    #[test]
    fn a_gate_is_on_if_any_version_enables_it() {
        let migration = |versions: serde_json::Value| {
            let wire =
                json!({"metadata": {"name": "cluster"}, "status": {"featureGates": versions}});
            FeatureGates.project(serde_json::from_str(&wire.to_string()).unwrap()).migration
        };
        let (on, other) = (json!([{"name": "MachineAPIMigration"}]), json!([{"name": "Other"}]));
        let old = json!({"version": "4.20.1", "enabled": null, "disabled": on});
        assert!(!migration(json!(null)));
        assert!(!migration(json!([old])));
        assert!(!migration(json!([{"version": "4.21.0", "enabled": other}])));
        assert!(migration(json!([old, {"version": "4.21.0", "enabled": on}])));
    }
    #[test]
    fn fuzz_infrastructures() -> Result<()> {
        let sample = r#"{"metadata": {"name": "cluster", "uid": "u", "resourceVersion": "7"},
            "status": {"infrastructureName": "prod-x7k2p", "platformStatus": {"type": "AWS", "aws":
            {"region": "eu-west-1", "serviceEndpoints": [{"name": "ec2", "url": "https://ec2"}],
            "resourceTags": [{"key": "a", "value": "b"}], "ipFamily": "IPv4"}}}}"#;
        feed(&[sample], |bytes| {
            if let Ok(wire) = serde_json::from_slice(bytes) {
                done(Infrastructures.project(wire).endpoint("ec2"));
            }
        })
    }

    #[test]
    fn fuzz_feature_gates() -> Result<()> {
        let sample = r#"{"metadata": {"name": "cluster", "uid": "u", "resourceVersion": "7"},
            "status": {"featureGates": [{"version": "4.21.0", "enabled": [{"name": "MachineAPIMigration"}],
            "disabled": [{"name": "x"}]}]}}"#;
        feed(&[sample], |bytes| {
            if let Ok(wire) = serde_json::from_slice(bytes) {
                done(FeatureGates.project(wire));
            }
        })
    }
}
