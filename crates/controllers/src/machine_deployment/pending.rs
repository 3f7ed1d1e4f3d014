//! Changes of a template that living Machines may not have yet. Pure.
//!
//! They are stored on the MachineSet as a tree of the fields that changed, without values: these are in the template.
//! A `null` is a field that changed as a whole: a string, a list, or a map that was removed. Below a map, keys that did
//! not change stay on a Machine as they are.

use machinist_api::names::ANNOTATION_PRESERVE;
use machinist_api::wire;
use machinist_domain::pairs::Pairs;
use serde_json::{Map, Value, json};

use super::hot_fields::HotFields;
use super::template::{Soft, merge_patch};
use crate::kinds::{Machine, Taint};

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Pending(Option<Value>);

impl Pending {
    /// As the annotation has it. A value that is not ours is none: the next change replaces it.
    pub(super) fn read(text: Option<&str>) -> Self {
        let tree = text.and_then(|text| serde_json::from_str(text).ok());
        Self(tree.filter(Value::is_object))
    }

    /// The value of the annotation.
    pub(super) fn to_text(&self) -> Option<String> {
        self.0.as_ref().map(ToString::to_string)
    }

    /// With the fields that differ, too: a Machine may have any of the values since.
    pub(super) fn with(self, from: &Soft, to: &Soft) -> Self {
        let new = changed(Some(&from.to_json()), Some(&to.to_json()));
        Self(match (self.0, new) {
            (Some(old), Some(new)) => Some(union(old, new)),
            (old, new) => old.or(new),
        })
    }

    /// The merge patch for a Machine that is behind a template with these values; empty if it is not.
    pub(super) fn machine_patch(
        &self,
        machine: &Machine,
        hot: &HotFields,
        wanted: &Soft,
    ) -> Map<String, Value> {
        let object = |pairs: &Pairs| -> Map<String, Value> {
            pairs.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
        };
        let spec = machine.provider_spec.as_ref().and_then(|spec| hot.read(&spec.raw));
        // A Machine without a provider spec gets no part of one.
        let hot = if spec.is_some() { wanted.hot.clone() } else { Map::new() };
        let own = Soft {
            timeouts: object(&machine.annotations),
            node_labels: object(&machine.node_labels),
            node_annotations: object(&machine.node_annotations),
            taints: machine.node_taints.iter().map(Taint::to_json).collect(),
            hot: spec.unwrap_or_default(),
        };
        let mut timeouts = wanted.timeouts.clone();
        // A request that a Machine has already stays, as it may be for this Machine alone.
        let request = machine.annotations.get(ANNOTATION_PRESERVE);
        timeouts.extend(request.map(|own| (ANNOTATION_PRESERVE.to_owned(), json!(own))));
        self.patch(&own, &Soft { timeouts, hot, ..wanted.clone() })
    }

    /// The merge patch that gives a Machine the values of the template; empty if it has them.
    fn patch(&self, own: &Soft, template: &Soft) -> Map<String, Value> {
        let Some(tree) = &self.0 else { return Map::new() };
        let template = Soft { taints: normal(&template.taints), ..template.clone() };
        match patch(tree, Some(&own.to_json()), Some(&template.to_json())) {
            Some(Value::Object(patch)) => patch,
            _ => Map::new(),
        }
    }
}

/// Taints as a Machine in the cache has them.
fn normal(taints: &[Value]) -> Vec<Value> {
    let taint = |taint: &Value| match serde_json::from_value::<wire::Taint>(taint.clone()) {
        Ok(wire) => Taint::shared(wire, Into::into).to_json(),
        Err(_) => taint.clone(),
    };
    taints.iter().map(taint).collect()
}

fn changed(from: Option<&Value>, to: Option<&Value>) -> Option<Value> {
    let none = Map::new();
    let (from, to) = match (from, to) {
        (from, to) if from == to => return None,
        (Some(Value::Object(from)), Some(Value::Object(to))) => (from, to),
        (None, Some(Value::Object(to))) => (&none, to),
        _ => return Some(Value::Null),
    };
    let names = from.keys().chain(to.keys());
    let tree: Map<_, _> = names
        .filter_map(|name| Some((name.clone(), changed(from.get(name), to.get(name))?)))
        .collect();
    (!tree.is_empty()).then(|| tree.into())
}

fn union(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (name, new) in other {
                let both = match one.remove(&name) {
                    Some(old) => union(old, new),
                    None => new,
                };
                one.insert(name, both);
            }
            one.into()
        }
        _ => Value::Null,
    }
}

fn patch(tree: &Value, own: Option<&Value>, template: Option<&Value>) -> Option<Value> {
    let Value::Object(tree) = tree else {
        return match (own, template) {
            (own, template) if own == template => None,
            (Some(Value::Object(own)), Some(Value::Object(template))) => {
                Some(merge_patch(own, template).into())
            }
            (_, template) => Some(template.cloned().unwrap_or_default()),
        };
    };
    let of = |value: Option<&Value>, name: &str| value.and_then(|value| value.get(name)).cloned();
    let fields: Map<_, _> = tree
        .iter()
        .filter_map(|(name, tree)| {
            let (own, template) = (of(own, name), of(template, name));
            Some((name.clone(), patch(tree, own.as_ref(), template.as_ref())?))
        })
        .collect();
    (!fields.is_empty()).then(|| fields.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hot(value: &Value) -> Soft {
        Soft { hot: value.as_object().unwrap().clone(), ..Soft::default() }
    }

    fn pending(history: &[Value]) -> Pending {
        let both = |pending: Pending, pair: &[Value]| pending.with(&hot(&pair[0]), &hot(&pair[1]));
        let pending = history.windows(2).fold(Pending::default(), both);
        assert_eq!(Pending::read(pending.to_text().as_deref()), pending);
        pending
    }

    /// What a Machine with these hot fields has after the patch for the last of the templates.
    fn after(history: &[Value], own: &Value) -> Value {
        let patch = pending(history).patch(&hot(own), &hot(history.last().unwrap()));
        let patch = Value::Object(patch).pointer("/spec/providerSpec/value").cloned();
        let patch = patch.unwrap_or_else(|| json!({}));
        super::super::template::patched(own.as_object().unwrap(), patch.as_object().unwrap()).into()
    }

    #[test]
    fn only_fields_are_stored() {
        let (from, to) = (json!({"tags": {"a": 1, "b": 2}}), json!({"tags": {"a": 1, "b": 3}}));
        let text = pending(&[from.clone(), to]).to_text().unwrap();
        assert_eq!(text, r#"{"spec":{"providerSpec":{"value":{"tags":{"b":null}}}}}"#);
        assert_eq!(pending(&[from.clone(), from]).to_text(), None);
        for text in ["", "x", "[1]", "null"] {
            assert_eq!(Pending::read(Some(text)), Pending::default());
        }
    }

    #[test]
    fn a_machine_gets_what_changed_since_the_last_time_and_keeps_the_rest() {
        let tags = |tags: Value| json!({ "tags": tags });
        let (a, b, c) =
            (tags(json!({"t": "a", "x": 1})), tags(json!({"t": "b"})), tags(json!({"t": "c"})));
        let history = [a.clone(), b.clone(), c.clone()];
        for own in [&a, &b, &c] {
            assert_eq!(after(&history, own), c, "{own}");
        }
        let back = [a.clone(), b.clone(), a.clone()];
        assert_eq!(after(&back, &b), a, "a Machine that had the change already");
        let mine = tags(json!({"t": "b", "mine": 1}));
        assert_eq!(after(&history, &mine), tags(json!({"t": "c", "mine": 1})));
        let own = tags(json!({"t": "mine", "x": 1}));
        let changed = [a, tags(json!({"t": "a"}))];
        assert_eq!(after(&changed, &own), tags(json!({"t": "mine"})), "only x changed");
    }

    #[test]
    fn what_was_removed_as_a_whole_is_replaced_as_a_whole() {
        let (one, none, other) = (json!({"tags": {"a": 1}}), json!({}), json!({"tags": {"c": 1}}));
        let history = [one.clone(), none.clone(), other.clone()];
        assert_eq!(after(&history, &one), other);
        assert_eq!(after(&history[..2], &one), none);
        let mine = json!({"tags": {"mine": 1}});
        assert_eq!(after(&[none.clone(), one], &mine), json!({"tags": {"a": 1, "mine": 1}}));
        let list = json!({"tags": [1]});
        assert_eq!(after(&[none, list.clone()], &mine), list);
    }

    #[test]
    fn taints_are_compared_as_the_cache_has_them() {
        let taints =
            |taints: Value| Soft { taints: taints.as_array().unwrap().clone(), ..Soft::default() };
        let with = json!([{"key": "x", "effect": "NoSchedule", "value": ""}]);
        let without = taints(json!([{"key": "x", "effect": "NoSchedule"}]));
        let pending = Pending::default().with(&Soft::default(), &taints(with.clone()));
        assert!(pending.patch(&without, &taints(with.clone())).is_empty());
        let patch = pending.patch(&Soft::default(), &taints(with));
        assert_eq!(Value::Object(patch), json!({"spec": {"taints": without.taints}}));
        let gone = Pending::default().with(&without, &Soft::default());
        let patch = gone.patch(&without, &Soft::default());
        assert_eq!(Value::Object(patch), json!({"spec": {"taints": null}}));
    }
}
