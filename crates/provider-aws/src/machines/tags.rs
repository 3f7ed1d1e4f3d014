//! The tags of a machine's resources: the spec's, then the cluster's, then those of the owner, which take precedence.
//! `kubernetes.io/cluster/<id>` is the convention of AWS's Kubernetes components.

use std::collections::BTreeMap;

use machinist_aws_spec::config::Tag;
use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::cloud::{CloudError, ErrorClass, MachineRef};

use crate::machines::cluster_settings::ClusterSettings;
use crate::messages;

const NAME: &str = "Name";
const CLUSTER: &str = "kubernetes.io/cluster/";
const OURS: &str = "machinist.dev/";

pub(crate) const MAX_TAGS: usize = 50;

pub(crate) fn cluster_tag(cluster: &str) -> String {
    format!("{CLUSTER}{cluster}")
}

pub(crate) fn cluster_tags(machine: &MachineRef) -> Vec<String> {
    machine.clusters().map(cluster_tag).collect()
}

pub(crate) fn marks_owned(name: &str, value: &str) -> bool {
    name.starts_with(CLUSTER) && value == "owned"
}

pub(crate) fn wanted(
    machine: &MachineRef,
    spec: &[Tag],
    settings: &ClusterSettings,
) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    let of_spec = spec.iter().map(|tag| (&tag.name, &tag.value));
    for (name, value) in of_spec.chain(settings.resource_tags()) {
        let reserved = name == NAME || name.starts_with(CLUSTER) || name.starts_with(OURS);
        if !reserved {
            tags.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    tags.extend(identity(machine));
    tags
}

pub(crate) fn identity(machine: &MachineRef) -> BTreeMap<String, String> {
    let ownership = Ownership::of(machine).tags();
    let ownership = ownership.into_iter().map(|(tag, value)| (tag.to_owned(), value.to_string()));
    let custom = [
        (NAME.to_owned(), machine.key.name.to_string()),
        (cluster_tag(&machine.cluster), "owned".to_owned()),
    ];
    custom.into_iter().chain(ownership).collect()
}

pub(crate) fn refuse_too_many<'a>(
    all: impl IntoIterator<Item = (&'static str, &'a BTreeMap<String, String>)>,
) -> Result<(), CloudError> {
    let too_many = all.into_iter().filter(|(_, tags)| tags.len() > MAX_TAGS);
    let problems: Vec<_> =
        too_many.map(|(field, tags)| messages::too_many_tags(field, tags.len())).collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(CloudError::new(ErrorClass::InvalidConfiguration, problems.join("; ")))
}
