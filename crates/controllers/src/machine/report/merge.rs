//! The merge patch that makes one JSON value out of another.

use serde_json::{Map, Value};

/// What to send so that `current` becomes `wanted`; `None` where it is that already. Lists are replaced as a whole.
pub(super) fn difference(
    current: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Option<Value> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn diff(current: &Value, wanted: &Value) -> Option<Value> {
        difference(current.as_object().unwrap(), wanted.as_object().unwrap())
    }

    #[test]
    fn only_what_differs_is_sent_and_what_is_too_much_is_removed() {
        let current = json!({"a": 1, "b": {"x": 1, "y": [1, 2]}, "c": "gone", "d": {"k": 1}});
        assert_eq!(diff(&current, &current), None);
        let wanted = json!({"a": 1, "b": {"x": 2, "y": [2]}, "d": "text", "e": {}});
        let patch = json!({"b": {"x": 2, "y": [2]}, "c": null, "d": "text", "e": {}});
        assert_eq!(diff(&current, &wanted), Some(patch));
    }
}
