//! A node group, from a MachineSet or MachineDeployment: what its annotations mean, and when it is dropped. Pure.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use kube::api::DynamicObject;

pub(super) const MACHINE_DEPLOYMENT: &str = "MachineDeployment";
/// `CAPI_GROUP` is machine.openshift.io.
const MIN_SIZE: &str = "machine.openshift.io/cluster-api-autoscaler-node-group-min-size";
const MAX_SIZE: &str = "machine.openshift.io/cluster-api-autoscaler-node-group-max-size";
/// These do not depend on `CAPI_GROUP`.
const PAUSED: &str = "cluster.x-k8s.io/paused";
const CAPACITY: &str = "capacity.cluster-autoscaler.kubernetes.io";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGroup {
    pub kind: &'static str,
    pub name: String,
    pub min: i64,
    pub max: i64,
    pub replicas: i64,
    /// The selector of its Machines.
    pub(super) selector: String,
    /// What a new node would be like; `None` if its CPUs or memory are unknown.
    pub template: Option<Template>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub cpu: String,
    pub memory: String,
    pub max_pods: i64,
    pub labels: BTreeMap<String, String>,
}

/// `None` if it is no node group. An error makes the whole list of groups fail.
pub(super) fn read(kind: &'static str, object: &DynamicObject) -> Result<Option<NodeGroup>> {
    let annotations = object.annotations();
    let of_deployment = object.owner_references().iter().any(|one| one.kind == MACHINE_DEPLOYMENT);
    if of_deployment || annotations.contains_key(PAUSED) {
        return Ok(None);
    }
    let (min, max) = (size(object, MIN_SIZE)?, size(object, MAX_SIZE)?);
    ensure!(min <= max || max == 0, "{}: min {min} > max {max}", object.name_any());
    let replicas = object.data["spec"]["replicas"].as_i64().context("unable to find replicas")?;
    let template = template(object);
    if max == 0 || (replicas == 0 && template.is_none()) {
        return Ok(None);
    }
    let name = object.name_any();
    Ok(Some(NodeGroup { kind, name, min, max, replicas, selector: selector(object)?, template }))
}

fn size(object: &DynamicObject, key: &str) -> Result<i64> {
    let Some(text) = object.annotations().get(key) else { return Ok(0) };
    match text.parse() {
        Ok(size) if size >= 0 => Ok(size),
        _ => bail!("{}: {key} is {text:?}", object.name_any()),
    }
}

fn selector(object: &DynamicObject) -> Result<String> {
    let labels = object.data["spec"]["selector"]["matchLabels"].as_object();
    let labels = labels.context("a selector")?;
    let pairs =
        labels.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
    Ok(pairs.collect::<Vec<_>>().join(","))
}

/// A value that cannot be parsed is as none.
fn template(object: &DynamicObject) -> Option<Template> {
    let get = |name: &str| object.annotations().get(&format!("{CAPACITY}/{name}"));
    let quantity = |name| get(name).filter(|text| is_quantity(text)).cloned();
    let pairs = get("labels").map(String::as_str).unwrap_or_default();
    // Spaces belong to names and values.
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.into(), value.into()));
    Some(Template {
        cpu: quantity("cpu")?,
        memory: quantity("memory")?,
        max_pods: get("maxPods").and_then(|text| text.parse().ok()).unwrap_or(110),
        labels: pairs.split(',').filter_map(pair).collect(),
    })
}

fn is_quantity(text: &str) -> bool {
    let end = text.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let units = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
    number.parse::<f64>().is_ok() && units.contains(&unit)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(replicas: &Value, annotations: &Value) -> DynamicObject {
        let object = json!({
            "metadata": {"name": "a", "annotations": annotations},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}},
        });
        serde_json::from_value(object).unwrap()
    }

    fn found(replicas: i64, annotations: &Value) -> Option<NodeGroup> {
        read(MACHINE_DEPLOYMENT, &object(&json!(replicas), annotations)).unwrap()
    }

    const CPU: &str = "capacity.cluster-autoscaler.kubernetes.io/cpu";
    const MEMORY: &str = "capacity.cluster-autoscaler.kubernetes.io/memory";

    #[test]
    fn a_group_needs_a_maximum_and_at_zero_a_capacity() {
        assert_eq!(found(1, &json!({})), None);
        assert_eq!(found(0, &json!({MAX_SIZE: "4"})), None);
        assert_eq!(found(0, &json!({MAX_SIZE: "4", CPU: "2", MEMORY: "much"})), None);
        assert!(found(1, &json!({MAX_SIZE: "4"})).is_some());
        let group = found(0, &json!({MAX_SIZE: "4", CPU: "2", MEMORY: "16384Mi"})).unwrap();
        assert_eq!((group.min, group.max, &*group.selector), (0, 4, "a=b"));
        assert_eq!(group.template.map(|one| one.max_pods), Some(110));
        assert_eq!(found(1, &json!({MAX_SIZE: "4", PAUSED: ""})), None);
        let mut object = object(&json!(1), &json!({MAX_SIZE: "4"}));
        let owner =
            json!([{"apiVersion": "x/v1", "kind": MACHINE_DEPLOYMENT, "name": "b", "uid": "u"}]);
        object.metadata.owner_references = serde_json::from_value(owner).unwrap();
        assert_eq!(read("MachineSet", &object).unwrap(), None);
    }

    #[test]
    fn one_mistake_fails_the_list() {
        let wrong = |replicas, annotations| read("MachineSet", &object(&replicas, &annotations));
        assert!(wrong(json!(1), json!({MAX_SIZE: "many"})).is_err());
        assert!(wrong(json!(1), json!({MAX_SIZE: "-1"})).is_err());
        assert!(wrong(json!(1), json!({MIN_SIZE: "3", MAX_SIZE: "2"})).is_err());
        assert!(wrong(Value::Null, json!({MAX_SIZE: "2"})).is_err());
    }
}
