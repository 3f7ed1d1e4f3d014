//! Reads our annotations as upstream's cluster-autoscaler does, and builds the node that it would make up for a
//! MachineSet with no replicas.
//!
//! The rules are those of its provider `clusterapi`: which keys it reads, how it parses each, and when it drops a set.
//! Nothing of `machinist_domain` that writes is used to read.

use std::collections::BTreeMap;

use machinist_domain::capacity_annotations::{Current, Families, MaxPods, Options, assess};
use machinist_domain::shape::{Architecture, Capacity, GpuVendor, Shape};

const DOMAIN: &str = "capacity.cluster-autoscaler.kubernetes.io";

/// The node of a set that has none.
#[derive(Debug, PartialEq, Eq)]
struct TemplateNode {
    capacity: BTreeMap<String, u64>,
    labels: BTreeMap<String, String>,
}

/// A quantity without fractions: a number and perhaps a binary unit.
fn quantity(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// The autoscaler's view; `None` where it would take the set for no node group.
fn template_node(annotations: &BTreeMap<String, String>) -> Option<TemplateNode> {
    let read = |key: &str| annotations.get(&format!("{DOMAIN}/{key}"));
    let mut capacity = BTreeMap::new();
    capacity.insert("cpu".to_owned(), quantity(read("cpu")?)?);
    capacity.insert("memory".to_owned(), quantity(read("memory")?)?);
    if let Some(disk) = read("ephemeral-disk") {
        capacity.insert("ephemeral-storage".to_owned(), quantity(disk)?);
    }
    capacity
        .insert("pods".to_owned(), read("maxPods").map_or(Some(110), |pods| pods.parse().ok())?);
    if let (Some(resource), Some(count)) = (read("gpu-type"), read("gpu-count")) {
        let count: u64 = count.parse().ok()?;
        if count > 0 {
            capacity.insert(resource.clone(), count);
        }
    }
    let mut labels: BTreeMap<String, String> =
        [("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
    // Split at commas, then at the first "="; spaces are not trimmed.
    let pairs = read("labels").into_iter().flat_map(|list| list.split(','));
    labels.extend(
        pairs
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    Some(TemplateNode { capacity, labels })
}

fn annotated(existing: &[(&str, &str)], families: Families) -> BTreeMap<String, String> {
    let mut annotations: BTreeMap<String, String> =
        existing.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let shape = Shape {
        instance_type: "g5g.2xlarge".into(),
        region: Some("eu-west-1".into()),
        zone: Some("eu-west-1b".into()),
        root_disk_gib: Some(120),
        credentials_secret: None,
    };
    let capacity = Capacity {
        vcpus: 8,
        memory_mib: 16384,
        architecture: Architecture::Arm64,
        gpus: 1,
        gpu_vendor: Some(GpuVendor::Nvidia),
        interfaces: 4,
        addresses_per_interface: 15,
    };
    let options = Options { families, max_pods: MaxPods::Eni, ..Options::default() };
    let current = Current::read(|name| annotations.get(name).map(String::as_str));
    let assessment = assess(&current, &shape, &capacity, options);
    for (key, value) in assessment.change.iter() {
        match value {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
    }
    annotations
}

#[test]
fn the_autoscaler_makes_up_the_node_that_ec2_would_give() {
    let users = format!("{DOMAIN}/labels");
    let annotations =
        annotated(&[(&users, "node-role.kubernetes.io/gpu=,team=a")], Families::Upstream);
    let node = template_node(&annotations).expect("a node group");

    let capacity: Vec<_> =
        node.capacity.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    let expected = [
        ("cpu", 8),
        ("ephemeral-storage", 120 << 30),
        ("memory", 16384 << 20),
        ("nvidia.com/gpu", 1),
        ("pods", 4 * 14 + 2),
    ];
    assert_eq!(capacity, expected);

    let labels: Vec<_> =
        node.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let expected = [
        ("kubernetes.io/arch", "arm64"),
        ("kubernetes.io/os", "linux"),
        ("node-role.kubernetes.io/gpu", ""),
        ("node.kubernetes.io/instance-type", "g5g.2xlarge"),
        ("team", "a"),
        ("topology.kubernetes.io/region", "eu-west-1"),
        ("topology.kubernetes.io/zone", "eu-west-1b"),
    ];
    assert_eq!(labels, expected);
}

/// Why the second family exists.
#[test]
fn openshifts_keys_alone_make_no_node_group_upstream() {
    assert_eq!(template_node(&annotated(&[], Families::OpenShift)), None);
    assert!(template_node(&annotated(&[], Families::Both)).is_some());
}
