//! The tags of what is made for a machine. Pure.
//!
//! First the spec's, then the cluster's, then those that say whose it is; nobody may set the last ones by hand. The tag
//! `kubernetes.io/cluster/<id>` is what AWS's own Kubernetes parts go by, ours are in [`ownership`](machinist_provider::cloud::ownership).

use std::collections::BTreeMap;

use machinist_aws_spec::config::Tag;
use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::cloud::{CloudError, ErrorClass, MachineRef};

use super::surroundings::ClusterFacts;

const NAME: &str = "Name";
const CLUSTER: &str = "kubernetes.io/cluster/";
const OURS: &str = "machinist.dev/";

/// EC2 has room for so many on one thing.
const MOST: usize = 50;

/// The tag by which AWS's Kubernetes parts know the cluster.
pub(crate) fn cluster_tag(cluster: &str) -> String {
    format!("{CLUSTER}{cluster}")
}

/// The same by every name that a machine's cluster goes by.
pub(crate) fn cluster_tags(machine: &MachineRef) -> Vec<String> {
    machine.clusters().map(cluster_tag).collect()
}

/// Whether this tag says that something is a cluster's own.
pub(crate) fn says_owned(name: &str, value: &str) -> bool {
    name.starts_with(CLUSTER) && value == "owned"
}

/// Every tag that an instance and its volumes are to have.
pub(crate) fn wanted(
    machine: &MachineRef,
    spec: &[Tag],
    facts: &ClusterFacts,
) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    let of_spec = spec.iter().map(|tag| (&tag.name, &tag.value));
    let of_cluster = facts.resource_tags.iter().map(|(name, value)| (name, value));
    for (name, value) in of_spec.chain(of_cluster) {
        let reserved = name == NAME || name.starts_with(CLUSTER) || name.starts_with(OURS);
        if !reserved {
            tags.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    tags.extend(identity(machine));
    tags
}

/// The tags that say whose something is.
pub(crate) fn identity(machine: &MachineRef) -> BTreeMap<String, String> {
    let ownership = Ownership::of(machine).tags();
    let ownership = ownership.into_iter().map(|(tag, value)| (tag.to_owned(), value.to_string()));
    let custom = [
        (NAME.to_owned(), machine.key.name.to_string()),
        (cluster_tag(&machine.cluster), "owned".to_owned()),
    ];
    custom.into_iter().chain(ownership).collect()
}

/// Refuses more tags than EC2 has room for. Each is what one thing gets in all, and the field of the spec that it is about: no list by itself need
/// be too long.
pub(crate) fn refuse_too_many<'a>(
    all: impl IntoIterator<Item = (&'static str, &'a BTreeMap<String, String>)>,
) -> Result<(), CloudError> {
    let too_many = all.into_iter().filter(|(_, tags)| tags.len() > MOST);
    let told = too_many.map(|(field, tags)| {
        let count = tags.len();
        format!("{field}: with those of the spec, the cluster and machinist there are {count}, and EC2 has room for {MOST}")
    });
    let told: Vec<_> = told.collect();
    if told.is_empty() {
        return Ok(());
    }
    Err(CloudError::new(ErrorClass::InvalidConfiguration, told.join("; ")))
}
