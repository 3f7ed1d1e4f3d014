//! Translates the provider spec of a MachineClass of machine-controller-manager (`AWSProviderSpec`) into
//! `AWSMachineProviderConfig`. Pure. Secrets are named by the class, not by the provider spec: they are not here.

mod messages;
mod network;
mod placement;
mod volumes;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use machinist_provider::fields::{Fields, Finding, Level};
use serde_json::{Map, Value, json};

const NAME_TAG: &str = "Name";
const CLUSTER_TAG: &str = "kubernetes.io/cluster/";
const ROLE_TAG: &str = "kubernetes.io/role/";

#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    pub spec: Map<String, Value>,
    /// The cluster in the tag `kubernetes.io/cluster/NAME`.
    pub cluster: Option<String>,
}

/// Whether a class is for AWS. Older manifests have no `provider`; then the spec decides.
pub fn is_aws(provider: Option<&str>, spec: &Map<String, Value>) -> bool {
    match provider {
        Some(provider) => provider.eq_ignore_ascii_case(crate::PROVIDER),
        None => spec.contains_key("ami") && spec.contains_key("machineType"),
    }
}

/// The `zone` is that of the class, which the provider spec does not have.
pub fn translate(
    spec: Map<String, Value>,
    zone: Option<&str>,
    findings: &mut Vec<Finding>,
) -> Translated {
    Fields::read("providerSpec", spec, findings, |from| {
        from.ignore(&["apiVersion", "kind"]);
        let mut to = Map::new();
        to.insert("apiVersion".to_owned(), "machine.openshift.io/v1beta1".into());
        to.insert("kind".to_owned(), "AWSMachineProviderConfig".into());
        put(&mut to, "ami", from.text("ami").map(|id| json!({ "id": id })));
        put(&mut to, "instanceType", from.text("machineType"));
        put(&mut to, "keyName", from.text("keyName"));
        put(&mut to, "blockDevices", volumes::devices(from));
        put(&mut to, "iamInstanceProfile", profile(from));
        network::network(from, &mut to);
        placement::placement(from, zone, &mut to);
        market(from, &mut to);
        put(&mut to, "metadataServiceOptions", metadata_service(from));
        put(&mut to, "cpuOptions", cpu(from));
        let cluster = tags(from, &mut to);
        from.refuse("ebsOptimized", messages::EBS_OPTIMIZED);
        from.refuse("monitoring", messages::MONITORING);
        if from.flag("srcAndDstChecksEnabled") == Some(false) {
            from.unsupported("srcAndDstChecksEnabled", messages::SOURCE_CHECK);
        }
        Translated { spec: to, cluster }
    })
}

fn put(to: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        to.insert(name.to_owned(), value.into());
    }
}

/// The profile by name, which is the last part of its ARN.
fn profile(from: &mut Fields<'_>) -> Option<Value> {
    let id = from.object("iam", |iam| {
        let name = iam.text("name");
        let arn = iam.text("arn");
        name.or_else(|| arn?.rsplit('/').next().map(str::to_owned))
    });
    id.flatten().map(|id| json!({ "id": id }))
}

fn market(from: &mut Fields<'_>, to: &mut Map<String, Value>) {
    if let Some(price) = from.text_or_empty("spotPrice") {
        let options = if price.is_empty() { json!({}) } else { json!({ "maxPrice": price }) };
        to.insert("spotMarketOptions".to_owned(), options);
    }
    from.object("capacityReservation", |target| {
        put(to, "capacityReservationId", target.text("capacityReservationId"));
        if target.flag("isMLCapacityBlock") == Some(true) {
            to.insert("marketType".to_owned(), "CapacityBlock".into());
        }
        target.refuse("capacityReservationResourceGroupArn", messages::RESERVATION_GROUP);
        let preference = target.text("capacityReservationPreference");
        // With an id, EC2 knows no preference; open is its default.
        if preference.is_some_and(|preference| preference != "open") {
            target.unsupported("capacityReservationPreference", messages::RESERVATION_PREFERENCE);
        }
    });
}

fn metadata_service(from: &mut Fields<'_>) -> Option<Value> {
    let authentication = from.object("instanceMetadataOptions", |options| {
        if options.text("httpEndpoint").is_some_and(|endpoint| endpoint != "enabled") {
            options.unsupported("httpEndpoint", messages::METADATA_OFF);
        }
        options.refuse("httpPutResponseHopLimit", messages::HOP_LIMIT);
        if options.text("httpProtocolIpv6").is_some_and(|ipv6| ipv6 != "disabled") {
            options.unsupported("httpProtocolIpv6", messages::METADATA_IPV6);
        }
        match options.text("httpTokens").as_deref() {
            Some("required") => Some("Required"),
            Some("optional") => Some("Optional"),
            None => None,
            Some(other) => {
                options.add(Level::Invalid, "httpTokens", messages::tokens(other));
                None
            }
        }
    });
    authentication.flatten().map(|word| json!({ "authentication": word }))
}

fn cpu(from: &mut Fields<'_>) -> Option<Value> {
    let confidential = from.object("cpuOptions", |options| {
        options.refuse("coreCount", messages::CORES);
        options.refuse("threadsPerCore", messages::CORES);
        match options.text("amdSevSnp").as_deref() {
            Some("enabled") => Some("AMDEncryptedVirtualizationNestedPaging"),
            Some("disabled") => Some("Disabled"),
            None => None,
            Some(other) => {
                options.add(Level::Invalid, "amdSevSnp", messages::sev_snp(other));
                None
            }
        }
    });
    confidential.flatten().map(|word| json!({ "confidentialCompute": word }))
}

/// Tags, without those that machinist sets by itself. A role tag would make the orphan collection of
/// machine-controller-manager terminate machinist's instances, if it is ever started again.
fn tags(from: &mut Fields<'_>, to: &mut Map<String, Value>) -> Option<String> {
    let tags: BTreeMap<String, String> = from.map("tags");
    let clusters: Vec<_> = tags.keys().filter_map(|name| name.strip_prefix(CLUSTER_TAG)).collect();
    if clusters.len() > 1 {
        from.unsupported("tags", messages::several_clusters(&clusters));
    }
    let cluster = clusters.first().map(|cluster| (*cluster).to_owned());
    let roles: Vec<_> = tags.keys().filter(|name| name.starts_with(ROLE_TAG)).collect();
    if let Some(role) = roles.first() {
        from.add(Level::Note, "tags", messages::role_tag(role));
    }
    let kept = tags.iter().filter(|(name, _)| {
        *name != NAME_TAG && !name.starts_with(CLUSTER_TAG) && !name.starts_with(ROLE_TAG)
    });
    let kept: Vec<_> = kept.map(|(name, value)| json!({ "name": name, "value": value })).collect();
    put(to, "tags", Some(kept).filter(|kept| !kept.is_empty()));
    cluster
}
