use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// An annotation that holds pairs of different parties.
const PAIRS: &str = "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/labels]";

/// Identity, preconditions, and what the API server keeps by itself.
const NOBODYS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata.creationTimestamp",
    "metadata.deletionGracePeriodSeconds",
    "metadata.deletionTimestamp",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.name",
    "metadata.namespace",
    "metadata.resourceVersion",
    "metadata.uid",
];

pub(super) fn fields(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    flatten(String::new(), value, &mut found);
    found.retain(|path, _| !NOBODYS.contains(&path.as_str()));
    found
}

pub(super) fn differences(before: &Value, after: &Value) -> BTreeSet<String> {
    let (before, after) = (fields(before), fields(after));
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differ = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    differ.cloned().collect()
}

/// Whether a path names pairs, of which only the changed ones were written.
pub(super) fn is_pairs(path: &str) -> bool {
    path.starts_with(PAIRS)
}

fn flatten(path: String, value: &Value, found: &mut BTreeMap<String, Value>) {
    match value {
        _ if NOBODYS.contains(&path.as_str()) => {}
        Value::Null if path.is_empty() => {}
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                flatten(child(&path, name), value, found);
            }
        }
        Value::Array(items)
            if !items.is_empty() && items.iter().all(|item| key(item).is_some()) =>
        {
            for item in items {
                flatten(format!("{path}[{}]", key(item).unwrap_or_default()), item, found);
            }
        }
        Value::String(list) if path == PAIRS => {
            for (name, value) in list.split(',').filter_map(|pair| pair.split_once('=')) {
                found.insert(format!("{path}[{}]", name.trim()), value.trim().into());
            }
        }
        _ => drop(found.insert(path, value.clone())),
    }
}

/// Names of annotations and labels have dots and slashes in them.
fn child(path: &str, name: &str) -> String {
    if name.contains(['.', '/']) || matches!(path, "metadata.annotations" | "metadata.labels") {
        format!("{path}[{name}]")
    } else if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Conditions have a type, taints a key.
fn key(item: &Value) -> Option<&str> {
    item.get("type").or_else(|| item.get("key"))?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(value: &Value) -> Vec<String> {
        fields(value).into_keys().collect()
    }

    #[test]
    fn fields_have_paths_that_people_can_read() {
        let object = json!({
            "kind": "X",
            "metadata": {"name": "x", "uid": "1", "annotations": {"plain": "1", "a.io/b": null}},
            "spec": {"replicas": 1, "empty": {}, "list": [1, 2]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let expected = [
            "metadata.annotations[a.io/b]",
            "metadata.annotations[plain]",
            "spec.empty",
            "spec.list",
            "spec.replicas",
            "status.conditions[Ready].status",
            "status.conditions[Ready].type",
        ];
        assert_eq!(paths(&object), expected);
    }

    #[test]
    fn pairs_are_compared_one_by_one() {
        let with = |list: &str| {
            json!({"metadata": {"annotations": {
                "capacity.cluster-autoscaler.kubernetes.io/labels": list,
            }}})
        };
        let differ =
            differences(&with("team=a,kubernetes.io/arch=x"), &with("kubernetes.io/arch=y,team=a"));
        assert_eq!(differ, BTreeSet::from([format!("{PAIRS}[kubernetes.io/arch]")]));
        assert!(differences(&with("a=1,b=2"), &with("b=2,a=1")).is_empty());
    }
}
