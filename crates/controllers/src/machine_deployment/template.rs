//! Templates: what makes a Machine, its hash, and how two differ. Pure.
//!
//! The *recipe* is the template as JSON, without what can be changed on living Machines: labels, annotations and taints
//! of the Node, the timeouts, and hot fields of the provider spec. A MachineSet's name and label are a hash of its
//! recipe with sorted keys, so they do not depend on the order of fields or on the layout of a type. Both are stored in
//! clusters and must never change.

use machinist_api::names::{
    ANNOTATION_CREATION_TIMEOUT, ANNOTATION_DRAIN_TIMEOUT, ANNOTATION_HEALTH_TIMEOUT,
    ANNOTATION_IN_PLACE_TIMEOUT, ANNOTATION_PRESERVE, ANNOTATION_PRESERVE_TIMEOUT,
    LABEL_TEMPLATE_HASH,
};
use machinist_domain::hash::fnv1a;
use machinist_domain::pairs::Pairs;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::hot_fields::HotFields;
use crate::kinds::Template;

/// Annotations of Machines that take effect at once.
const TIMEOUTS: [&str; 6] = [
    ANNOTATION_CREATION_TIMEOUT,
    ANNOTATION_DRAIN_TIMEOUT,
    ANNOTATION_HEALTH_TIMEOUT,
    ANNOTATION_IN_PLACE_TIMEOUT,
    ANNOTATION_PRESERVE,
    ANNOTATION_PRESERVE_TIMEOUT,
];
const LETTERS: usize = 10;
/// Neither vowels, which form words, nor characters that look alike.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// The longest part of a set's name that is its deployment's.
const LONGEST_HEAD: usize = 200;

/// A template, divided.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    /// A change of it rolls.
    pub recipe: Value,
    /// A change of it is copied to the set and its Machines.
    pub soft: Soft,
}

/// What can be changed on living Machines.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Soft {
    pub timeouts: Map<String, Value>,
    pub node_labels: Map<String, Value>,
    pub node_annotations: Map<String, Value>,
    pub taints: Vec<Value>,
    /// Fields of the provider spec.
    pub hot: Map<String, Value>,
}

impl Soft {
    /// As a part of a template.
    pub(super) fn to_json(&self) -> Value {
        let node = json!({"labels": self.node_labels, "annotations": self.node_annotations});
        let mut spec = json!({"metadata": node, "providerSpec": {"value": self.hot}});
        if !self.taints.is_empty() {
            spec["taints"] = json!(self.taints);
        }
        json!({"metadata": {"annotations": self.timeouts}, "spec": spec})
    }
}

pub(super) fn parts(template: &Template, hot: &HotFields) -> Result<Parts, serde_json::Error> {
    let mut spec = spec(template)?;
    let provider_spec = spec.get_mut("providerSpec").and_then(|one| one.get_mut("value"));
    let provider_spec = provider_spec.and_then(Value::as_object_mut);
    let hot = provider_spec.map(|spec| hot.take(spec)).unwrap_or_default();
    let mut node = object(spec.remove("metadata"));
    let taints = match spec.remove("taints") {
        Some(Value::Array(taints)) => taints,
        _ => Vec::new(),
    };
    let is_timeout = |name: &str| TIMEOUTS.contains(&name);
    let labels = map(&template.labels, |name| name != LABEL_TEMPLATE_HASH);
    let annotations = map(&template.annotations, |name| !is_timeout(name));
    let soft = Soft {
        timeouts: map(&template.annotations, is_timeout),
        node_labels: object(node.remove("labels")),
        node_annotations: object(node.remove("annotations")),
        taints,
        hot,
    };
    let recipe = json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": spec});
    Ok(Parts { recipe: without_nulls(recipe), soft })
}

/// The whole template as a deployment has it, for comparisons: without the label of the hash, nulls and defaults.
pub(super) fn whole(template: &Template) -> Result<Value, serde_json::Error> {
    let labels = map(&template.labels, |name| name != LABEL_TEMPLATE_HASH);
    let annotations = map(&template.annotations, |_| true);
    let metadata = json!({"labels": labels, "annotations": annotations});
    Ok(without_nulls(json!({"metadata": metadata, "spec": spec(template)?})))
}

fn spec(template: &Template) -> Result<Map<String, Value>, serde_json::Error> {
    let mut spec: Map<String, Value> = match &template.spec {
        None => Map::new(),
        Some(raw) => serde_json::from_str(raw)?,
    };
    // OpenShift's MachineSets have it by default.
    if spec.get("authoritativeAPI").is_some_and(|api| api == "MachineAPI") {
        spec.remove("authoritativeAPI");
    }
    Ok(spec)
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn map(pairs: &Pairs, keep: impl Fn(&str) -> bool) -> Map<String, Value> {
    let kept = pairs.iter().filter(|(name, _)| keep(name));
    kept.map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name, without_nulls(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// The value of the label `machinist.dev/template-hash`.
pub(super) fn hash(recipe: &Value) -> String {
    letters(fnv1a(canonical(recipe).as_bytes()))
}

/// The hash that a set of this template has, by the set's annotation with the hot fields.
pub(super) fn hash_on(
    template: &Template,
    hot_fields: Option<&str>,
) -> Result<String, serde_json::Error> {
    Ok(hash(&parts(template, &HotFields::stored(hot_fields))?.recipe))
}

/// The name of the set; with each collision another one.
pub(super) fn set_name(deployment: &str, recipe: &Value, collisions: i32) -> String {
    let head = deployment.get(..deployment.len().min(LONGEST_HEAD)).unwrap_or_default();
    let head = head.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
    let letters = match collisions {
        0 => hash(recipe),
        more => letters(fnv1a(format!("{}{more}", canonical(recipe)).as_bytes())),
    };
    format!("{head}-{letters}")
}

fn letters(mut hash: u64) -> String {
    let base = ALPHABET.len() as u64;
    let letters = (0..LETTERS).filter_map(|_| {
        let letter = usize::try_from(hash % base).ok().and_then(|at| ALPHABET.get(at));
        hash /= base;
        letter.copied().map(char::from)
    });
    letters.collect()
}

/// JSON with sorted keys and without spaces.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", json!(name), canonical(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

/// A field that differs, and its old and new value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    pub path: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// How two recipes differ, in the order of the paths.
pub(super) fn changes(from: &Value, to: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare("spec.template", Some(from), Some(to), &mut changes);
    changes
}

/// Whether a stored recipe has all that is wanted. More may be stored, such as the defaults of a webhook, and what is
/// empty may be missing, because a webhook that writes the whole object leaves it out.
pub(super) fn includes(stored: &Value, wanted: &Value) -> bool {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => wanted.iter().all(|(name, value)| {
            stored.get(name).map_or_else(|| is_empty(value), |stored| includes(stored, value))
        }),
        (Value::Array(stored), Value::Array(wanted)) => {
            let mut both = stored.iter().zip(wanted);
            stored.len() >= wanted.len() && both.all(|(stored, wanted)| includes(stored, wanted))
        }
        _ => stored == wanted,
    }
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn compare(path: &str, from: Option<&Value>, to: Option<&Value>, changes: &mut Vec<Change>) {
    if from == to {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (from, to) {
        let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let path = if name.contains(['.', '/']) {
                format!("{path}[{name}]")
            } else {
                format!("{path}.{name}")
            };
            compare(&path, old.get(name), new.get(name), changes);
        }
        return;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    changes.push(Change { path: path.to_owned(), from: from.map(text), to: to.map(text) });
}

/// A merge patch that makes `from` equal to `to`, at every depth. Neither has nulls.
pub(super) fn merge_patch(
    from: &Map<String, Value>,
    to: &Map<String, Value>,
) -> Map<String, Value> {
    let changed = to.iter().filter(|(name, value)| from.get(*name) != Some(value));
    let changed = changed.map(|(name, value)| match (from.get(name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            (name.clone(), merge_patch(old, new).into())
        }
        _ => (name.clone(), value.clone()),
    });
    let removed = from.keys().filter(|name| !to.contains_key(*name));
    changed.chain(removed.map(|name| (name.clone(), Value::Null))).collect()
}

/// A merge patch that makes `from` equal to `to`.
pub(super) fn difference(from: &Value, to: &Value) -> Value {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => merge_patch(from, to).into(),
        _ => to.clone(),
    }
}

/// What becomes of `object` with a merge patch.
pub(super) fn patched(
    object: &Map<String, Value>,
    patch: &Map<String, Value>,
) -> Map<String, Value> {
    let mut result = object.clone();
    for (name, value) in patch {
        let new = match (object.get(name), value) {
            (_, Value::Null) => {
                result.remove(name);
                continue;
            }
            (Some(Value::Object(old)), Value::Object(patch)) => patched(old, patch).into(),
            _ => without_nulls(value.clone()),
        };
        result.insert(name.clone(), new);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(labels: Pairs, spec: &str) -> Template {
        Template { labels, annotations: Pairs::default(), spec: Some(spec.into()) }
    }

    fn of(spec: &str) -> Parts {
        hot(spec, &[])
    }

    fn hot(spec: &str, fields: &[&str]) -> Parts {
        let template = template(Pairs::from([("a", "b")]), spec);
        parts(&template, &HotFields::declared(fields)).unwrap()
    }

    /// They are stored in clusters: the values are pinned.
    #[test]
    fn what_a_webhook_adds_and_leaves_out_if_empty_is_no_change() {
        let wanted = json!({"type": "m5", "tags": [], "user": "", "nets": [{"id": "a"}]});
        for (stored, expected) in [
            (json!({"type": "m5", "nets": [{"id": "a"}]}), true),
            (json!({"type": "m5", "nets": [{"id": "a", "index": 0}, {"id": "b"}], "x": 1}), true),
            (json!({"type": "m5"}), false),
            (json!({"type": "m6", "nets": [{"id": "a"}]}), false),
        ] {
            assert_eq!(includes(&stored, &wanted), expected, "{stored}");
        }
    }

    #[test]
    fn hashes_and_names_never_change() {
        let recipe = of(r#"{"providerSpec":{"value":{"b":1,"a":[true,null]}}}"#).recipe;
        let spec = r#"{"providerSpec":{"value":{"a":[true,null],"b":1}}}"#;
        let metadata = r#"{"annotations":{},"labels":{"a":"b"}}"#;
        let whole = format!(r#"{{"metadata":{metadata},"spec":{spec}}}"#);
        assert_eq!(canonical(&recipe), whole);
        let hash = hash(&recipe);
        assert_eq!(hash.len(), LETTERS);
        assert_eq!(set_name("web", &recipe, 0), format!("web-{hash}"));
        assert_ne!(set_name("web", &recipe, 1), set_name("web", &recipe, 0));
        assert!(set_name(&format!("{}.{}", "x".repeat(199), "y"), &recipe, 0).len() <= 211);
    }

    #[test]
    fn recipe_depends_on_what_makes_a_machine_and_on_nothing_else() {
        let base = of(r#"{"providerSpec":{"value":{"type":"a"}}}"#);
        for same in [
            r#"{"providerSpec":{"value":{"type":"a"}},"metadata":{"labels":{"x":"y"}}}"#,
            r#"{"taints":[{"key":"x","effect":"NoSchedule"}],"providerSpec":{"value":{"type":"a"}}}"#,
            r#"{"authoritativeAPI":"MachineAPI","providerID":null,"providerSpec":{"value":{"type":"a"}}}"#,
        ] {
            assert_eq!(of(same).recipe, base.recipe, "{same}");
        }
        let mut labelled = Pairs::from([("a", "b"), (LABEL_TEMPLATE_HASH, "x")]);
        let spec = r#"{"providerSpec":{"value":{"type":"a"}}}"#;
        let none = HotFields::default();
        assert_eq!(parts(&template(labelled, spec), &none).unwrap().recipe, base.recipe);
        labelled = Pairs::from([("a", "c")]);
        assert_ne!(parts(&template(labelled, spec), &none).unwrap().recipe, base.recipe);
    }

    #[test]
    fn hot_fields_are_no_part_of_the_recipe() {
        let plain = of(r#"{"providerSpec":{"value":{"type":"a"}}}"#);
        for (value, expected) in [
            (r#"{"type":"a"}"#, "{}"),
            (r#"{"type":"a","tags":null}"#, "{}"),
            (r#"{"type":"a","tags":[{"name":"x"}]}"#, r#"{"tags":[{"name":"x"}]}"#),
        ] {
            let spec = format!(r#"{{"providerSpec":{{"value":{value}}}}}"#);
            let parts = hot(&spec, &["tags"]);
            assert_eq!(parts.recipe, plain.recipe, "{value}");
            assert_eq!(Value::Object(parts.soft.hot).to_string(), expected);
        }
        let tagged = r#"{"providerSpec":{"value":{"type":"a","tags":[]}}}"#;
        assert_ne!(of(tagged).recipe, plain.recipe, "nothing is hot by itself");
        let elsewhere = r#"{"tags":1,"providerSpec":{"value":{"type":"a","x":{"tags":1}}}}"#;
        assert_eq!(hot(elsewhere, &["tags"]).recipe, of(elsewhere).recipe);
    }

    #[test]
    fn a_set_has_the_hash_without_the_fields_that_it_names() {
        let tagged = |value: &str| {
            let spec = format!(r#"{{"providerSpec":{{"value":{{"type":"a","tags":{value}}}}}}}"#);
            template(Pairs::default(), &spec)
        };
        let hash = |value, fields| hash_on(&tagged(value), fields).unwrap();
        assert_eq!(hash("1", Some("tags")), hash("2", Some("tags")));
        assert_ne!(hash("1", None), hash("2", None));
        assert_ne!(hash("1", None), hash("1", Some("tags")));
    }

    #[test]
    fn changes_name_path_and_both_values() {
        let (old, new) = (
            of(r#"{"providerSpec":{"value":{"instanceType":"m5.large","n":1}}}"#),
            of(r#"{"providerSpec":{"value":{"instanceType":"m6i.large","x/y":{}}}}"#),
        );
        let found: Vec<_> = changes(&old.recipe, &new.recipe)
            .into_iter()
            .map(|one| (one.path, one.from, one.to))
            .collect();
        let value = "spec.template.spec.providerSpec.value";
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                (format!("{value}.instanceType"), some("m5.large"), some("m6i.large")),
                (format!("{value}.n"), some("1"), None),
                (format!("{value}[x/y]"), None, some("{}")),
            ]
        );
    }

    #[test]
    fn merge_patch_sets_and_removes() {
        let from = object(Some(json!({"a": 1, "b": 2, "c": 3})));
        let to = object(Some(json!({"a": 1, "b": 3, "d": 4})));
        let patch = merge_patch(&from, &to);
        assert_eq!(Value::Object(patch.clone()), json!({"b": 3, "c": null, "d": 4}));
        assert_eq!(patched(&from, &patch), to);
    }

    #[test]
    fn merge_patch_leaves_what_is_not_in_it() {
        let (one, other) = (json!({"a": [1], "b": {"c": 2}}), json!({"a": {"e": 1}, "b": {}}));
        assert_eq!(difference(&one, &other), json!({"a": {"e": 1}, "b": {"c": null}}));
        let from = object(Some(json!({"tags": {"a": 1, "b": 2}, "list": [1], "gone": {"x": 1}})));
        let to = object(Some(json!({"tags": {"a": 1, "c": 3}, "list": [2], "new": {"y": 1}})));
        let patch = merge_patch(&from, &to);
        let expected =
            json!({"tags": {"b": null, "c": 3}, "list": [2], "gone": null, "new": {"y": 1}});
        assert_eq!(Value::Object(patch.clone()), expected);
        assert_eq!(patched(&from, &patch), to);
        let others = object(Some(json!({"tags": {"mine": 0, "b": 2}, "list": [1, 9]})));
        let result = Value::Object(patched(&others, &patch));
        assert_eq!(result, json!({"tags": {"mine": 0, "c": 3}, "list": [2], "new": {"y": 1}}));
        let result = Value::Object(patched(&Map::new(), &patch));
        assert_eq!(result, json!({"tags": {"c": 3}, "list": [2], "new": {"y": 1}}));
    }
}
