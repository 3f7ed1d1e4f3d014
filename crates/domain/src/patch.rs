//! Merge patches that leave fields of other writers alone.

use serde_json::{Map, Value, json};

/// The merge patch that turns `current` into `wanted`; `None` if they are equal. Lists are replaced as a whole.
pub fn difference(current: &Map<String, Value>, wanted: &Map<String, Value>) -> Option<Value> {
    let mut patch = Map::new();
    for name in current.keys().filter(|name| !wanted.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in wanted {
        let change = match (current.get(name), value) {
            (Some(known), value) if known == value => None,
            (Some(Value::Object(known)), Value::Object(value)) => difference(known, value),
            _ => Some(value.clone()),
        };
        if let Some(change) = change {
            patch.insert(name.clone(), change);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// The patch that adds or removes `finalizer` and keeps all others. A list needs a resourceVersion precondition.
pub fn finalizers(current: &[impl AsRef<str>], finalizer: &str, present: bool) -> Value {
    let others = current.iter().map(AsRef::as_ref).filter(|name| *name != finalizer);
    let list: Vec<_> = others.chain(present.then_some(finalizer)).collect();
    json!({"metadata": {"finalizers": list}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(current: &Value, wanted: &Value) -> Option<Value> {
        difference(current.as_object().unwrap(), wanted.as_object().unwrap())
    }

    #[test]
    fn difference_contains_only_changes_and_removes_extra_fields() {
        let current = json!({"a": 1, "b": {"x": 1, "y": [1, 2]}, "c": "gone", "d": {"k": 1}});
        assert_eq!(diff(&current, &current), None);
        let wanted = json!({"a": 1, "b": {"x": 2, "y": [2]}, "d": "text", "e": {}});
        let patch = json!({"b": {"x": 2, "y": [2]}, "c": null, "d": "text", "e": {}});
        assert_eq!(diff(&current, &wanted), Some(patch));
    }

    #[test]
    fn finalizers_of_others_stay() {
        let list = |current: &[&str], present| {
            finalizers(current, "ours", present)["metadata"]["finalizers"].clone()
        };
        assert_eq!(list(&["a", "ours", "b"], false), json!(["a", "b"]));
        assert_eq!(list(&["a"], true), json!(["a", "ours"]));
        assert_eq!(list(&["ours"], true), json!(["ours"]));
    }
}
