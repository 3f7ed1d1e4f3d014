//! Lenient types for reading objects: what nobody reads is skipped while parsing and never allocated.
//!
//! Input: JSON of the API server. Output: borrowed or owned pieces that a projection turns into a stored struct.
//! These types are not for writing: a field that is missing here would be dropped on the way back.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The part of `metadata` that controllers read. `managedFields`, often half of an object, is skipped.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name, unique within namespace and kind.
    pub name: String,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Unique over all time, unlike the name.
    pub uid: String,
    /// Version of the object in the store.
    pub resource_version: String,
    /// Set when the object is being deleted.
    pub deletion_timestamp: Option<String>,
    /// Labels, of whoever.
    pub labels: BTreeMap<String, String>,
    /// Annotations, of whoever.
    pub annotations: BTreeMap<String, String>,
    /// Owners, of which one may be the controller.
    pub owner_references: Vec<OwnerReference>,
}

/// An owner of an object.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OwnerReference {
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// Uid of the owner.
    pub uid: String,
    /// Whether this owner is the managing controller.
    pub controller: bool,
}

/// An object of which only the metadata is read, whatever its kind.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MetadataOnly {
    /// The metadata.
    pub metadata: Metadata,
}

/// A MachineSet: metadata, the raw provider spec of its template, and who is in charge of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MachineSet {
    /// The metadata.
    pub metadata: Metadata,
    /// The desired state.
    pub spec: MachineSetSpec,
    /// The observed state.
    pub status: MachineSetStatus,
}

/// `status` of a MachineSet, as far as it says who is in charge.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetStatus {
    /// Which of OpenShift's two machine APIs is in charge.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// Conditions, of whoever.
    pub conditions: Vec<Condition>,
}

/// A condition, as far as it says what is so.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
}

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

/// A Lease, as far as it says whether somebody holds it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// The metadata.
    pub metadata: Metadata,
    /// Who holds it, since when.
    pub spec: LeaseSpec,
}

/// `spec` of a Lease.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// Who holds it; empty when it was given back.
    pub holder_identity: Option<String>,
    /// When the holder last renewed it, by the holder's clock.
    pub renew_time: Option<String>,
}

/// What OpenShift says of the cloud that it runs on.
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

/// `status.platformStatus` of an Infrastructure.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlatformStatus {
    /// The part about AWS.
    pub aws: AwsPlatformStatus,
}

/// `status.platformStatus.aws` of an Infrastructure.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsPlatformStatus {
    /// Where services are that are not where they usually are.
    pub service_endpoints: Vec<ServiceEndpoint>,
}

/// Where a service is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ServiceEndpoint {
    /// The service, such as `ec2`.
    pub name: String,
    /// Its address.
    pub url: String,
}

/// `spec` of a MachineSet.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MachineSetSpec {
    /// The machine that the set makes copies of.
    pub template: MachineTemplate,
}

/// `spec.template` of a MachineSet.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    /// The machine's desired state.
    pub spec: MachineSpec,
}

/// `spec` of a Machine.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    /// What to ask the cloud for.
    pub provider_spec: ProviderSpec,
}

/// `providerSpec` of a Machine.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProviderSpec {
    /// Belongs to a provider and stays raw until that provider reads it.
    pub value: Option<Box<RawValue>>,
}

/// One line of a watch.
#[derive(Debug, Deserialize)]
pub struct WatchLine<'a> {
    /// ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// The object, or a `Status` where the kind is ERROR.
    #[serde(borrow)]
    pub object: &'a RawValue,
}

/// One page of a list, its items still raw: one that cannot be decoded must not spoil the others.
#[derive(Debug, Deserialize)]
pub struct ListPage<'a> {
    /// Version of the whole list and the token for the next page.
    #[serde(default)]
    pub metadata: ListMetadata,
    /// The objects. The API server answers `null` for an empty list of some kinds.
    #[serde(borrow, default)]
    pub items: Option<Vec<&'a RawValue>>,
}

/// `metadata` of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMetadata {
    /// The version at which the list was true.
    pub resource_version: String,
    /// Token for the next page, empty on the last.
    #[serde(rename = "continue")]
    pub next: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_set_keeps_its_raw_provider_spec_and_skips_the_rest() {
        let json = r#"{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet",
            "metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7",
              "managedFields":[{"manager":"x","fieldsV1":{"f:spec":{}}}],"annotations":{"k":"v"}},
            "spec":{"replicas":3,"template":{"spec":{"providerSpec":{"value":{"instanceType":"m6i.large"}}}}},
            "status":{"replicas":3}}"#;
        let set: MachineSet = serde_json::from_str(json).unwrap();
        assert_eq!(set.metadata.name, "a");
        assert_eq!(set.metadata.annotations["k"], "v");
        let raw = set.spec.template.spec.provider_spec.value.unwrap();
        assert_eq!(raw.get(), r#"{"instanceType":"m6i.large"}"#);
    }

    #[test]
    fn a_list_of_null_is_empty() {
        let page: ListPage<'_> =
            serde_json::from_str(r#"{"metadata":{"resourceVersion":"5"},"items":null}"#).unwrap();
        assert!(page.items.is_none());
        assert_eq!(page.metadata.resource_version, "5");
    }
}
