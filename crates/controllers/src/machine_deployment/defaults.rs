//! What the template of a MachineSet was made from, without what a webhook has added to it. Pure.
//!
//! A webhook that sets defaults for MachineSets, such as OpenShift's, does not set them in the template of a
//! MachineDeployment. The label with the hash is that of the deployment's template, so it tells whether a field that
//! only the set has is such a default. Where the label does not decide that, the template counts as it is stored.

use machinist_api::names::LABEL_TEMPLATE_HASH;
use serde_json::{Map, Value};

use super::hot_fields::HotFields;
use super::template::{self, patched};
use crate::kinds::{MachineSet, Template};

/// With more fields that only the set has, all or none of them are defaults.
const MOST: usize = 16;

/// The recipe that a set was made from. `like` is the template of its deployment.
pub(super) fn recipe(
    set: &MachineSet,
    like: &Template,
    hot: &HotFields,
) -> Result<Value, serde_json::Error> {
    let stored = template::parts(&set.state.spec.template, hot)?.recipe;
    let hash = set.state.labels.get(LABEL_TEMPLATE_HASH);
    let hot_fields = set.state.hot_fields.as_deref();
    Ok(applied(stored, &without_defaults(&set.state.spec.template, hash, hot_fields, like)?))
}

/// The whole template that a set with this hash and annotation was made from.
pub(super) fn whole(
    stored: &Template,
    hash: Option<&str>,
    hot_fields: Option<&str>,
    like: &Template,
) -> Result<Value, serde_json::Error> {
    let patch = without_defaults(stored, hash, hot_fields, like)?;
    Ok(applied(template::whole(stored)?, &patch))
}

fn applied(template: Value, patch: &Map<String, Value>) -> Value {
    match template {
        Value::Object(fields) if !patch.is_empty() => patched(&fields, patch).into(),
        template => template,
    }
}

/// The merge patch that removes the defaults.
fn without_defaults(
    stored: &Template,
    hash: Option<&str>,
    hot_fields: Option<&str>,
    like: &Template,
) -> Result<Map<String, Value>, serde_json::Error> {
    let hot = HotFields::stored(hot_fields);
    let stored = template::parts(stored, &hot)?.recipe;
    let like = template::parts(like, &hot)?.recipe;
    let (bare, extra) = without(&stored, &like, &[]);
    let is_it = |recipe: &Value| hash == Some(&*template::hash(recipe));
    if bare == stored || is_it(&stored) {
        return Ok(Map::new());
    }
    let mut found = Some(bare).filter(is_it);
    if extra <= MOST {
        // The deployment had one or two of them, and has not any more.
        let pairs = (0..extra).flat_map(|one| (0..=one).map(move |other| [one, other]));
        found = found.or_else(|| pairs.map(|kept| without(&stored, &like, &kept).0).find(is_it));
    }
    Ok(match found.map(|recipe| template::difference(&stored, &recipe)) {
        Some(Value::Object(patch)) => patch,
        _ => Map::new(),
    })
}

/// A recipe without the fields that the other one does not have, apart from those of these numbers, and how many there
/// are. What is empty and missing was left out by the webhook.
fn without(stored: &Value, like: &Value, kept: &[usize]) -> (Value, usize) {
    let mut extra = 0;
    let recipe = reduce(stored, like, &mut |_| {
        extra += 1;
        kept.contains(&(extra - 1))
    });
    (recipe, extra)
}

fn reduce(stored: &Value, like: &Value, keep: &mut dyn FnMut(&str) -> bool) -> Value {
    match (stored, like) {
        (Value::Object(stored), Value::Object(like)) => {
            let mut fields = Map::new();
            for (name, value) in stored {
                match like.get(name) {
                    Some(like) => drop(fields.insert(name.clone(), reduce(value, like, keep))),
                    None if keep(name) => drop(fields.insert(name.clone(), value.clone())),
                    None => {}
                }
            }
            let missing = like.iter().filter(|(name, _)| !stored.contains_key(*name));
            let left_out = missing.filter(|(_, value)| template::is_empty(value));
            fields.extend(left_out.map(|(name, value)| (name.clone(), value.clone())));
            fields.into()
        }
        (Value::Array(stored), Value::Array(like)) if stored.len() == like.len() => {
            let both = stored.iter().zip(like);
            both.map(|(stored, like)| reduce(stored, like, keep)).collect()
        }
        _ => stored.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::samples;
    use super::*;

    fn set(stored: &Value, asked: &Value) -> MachineSet {
        let template = |value: &Value| json!({"spec": {"providerSpec": {"value": value}}});
        let hash = template::hash_on(&like(asked), None).unwrap();
        let labels = json!({LABEL_TEMPLATE_HASH: hash});
        let patch = json!({"metadata": {"labels": labels}, "spec": {"template": template(stored)}});
        (*samples::set("m5", 1, 1, &patch)).clone()
    }

    fn like(value: &Value) -> Template {
        let mut deployment = samples::deployment();
        deployment["spec"]["template"]["spec"]["providerSpec"]["value"] = value.clone();
        samples::read(&deployment).spec.template.clone()
    }

    #[test]
    fn what_only_the_set_has_is_a_default_if_the_hash_is_right_without_it() {
        let asked =
            json!({"instanceType": "m5", "subnet": "a", "tags": [], "disks": [{"size": 1}]});
        let stored = json!({
            "instanceType": "m5", "subnet": "a", "disks": [{"size": 1, "key": {}}],
            "deviceIndex": 0, "metadata": {}, "placement": {"region": "r"},
        });
        for (now, expected) in [
            (asked.clone(), &asked),
            (
                json!({"instanceType": "m6", "subnet": "a", "tags": [], "disks": [{"size": 2}]}),
                &asked,
            ),
            (json!({"instanceType": "m6", "tags": [], "disks": [{"size": 1}]}), &asked),
            (json!({"instanceType": "m6", "tags": [], "disks": [{"size": 1}], "x": 1}), &asked),
            (json!({"tags": [], "disks": [{"size": 1}]}), &asked),
            // More was removed than is found out, or the set was changed.
            (json!({"tags": []}), &stored),
        ] {
            let found = recipe(&set(&stored, &asked), &like(&now), &HotFields::default()).unwrap();
            let value = &found["spec"]["providerSpec"]["value"];
            assert_eq!(value, expected, "{now}");
        }
        let mut edited = stored.clone();
        edited["subnet"] = json!("b");
        let found = recipe(&set(&edited, &asked), &like(&asked), &HotFields::default()).unwrap();
        assert_eq!(found["spec"]["providerSpec"]["value"], edited);
    }
}
