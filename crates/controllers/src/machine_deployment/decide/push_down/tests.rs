use jiff::Timestamp;

use super::super::super::samples::{deployment, member, now, read, set, snapshot, with_members};
use super::super::super::snapshot::SetView;
use super::super::decide;
use super::*;

const DECLARED: &str = "Hot";
/// Of a provider that this process does not have.
const UNKNOWN: &str = "Cold";

/// A deployment of revision 2 whose Machines are of type `b`.
fn tagged(kind: &str, tags: Value) -> Value {
    let mut deployment = deployment();
    let value = &mut deployment["spec"]["template"]["spec"]["providerSpec"]["value"];
    value["kind"] = json!(kind);
    value["tags"] = tags;
    deployment
}

/// The set `b` with the template of this deployment and two Machines. Its hash leaves out `fields`.
fn set_of(source: &Value, fields: Option<&str>) -> Vec<SetView> {
    let hash = template::hash_on(&read(source).spec.template, fields).unwrap();
    let mut annotations = json!({});
    if let Some(fields) = fields {
        annotations[ANNOTATION_HOT_FIELDS] = json!(fields);
    }
    let metadata = json!({"labels": {LABEL_TEMPLATE_HASH: hash}, "annotations": annotations});
    let template = &source["spec"]["template"];
    let set = set("b", 3, 2, &json!({"metadata": metadata, "spec": {"template": template}}));
    let mut view = with_members(set, 0, 0);
    for name in ["b-1", "b-2"] {
        view.members.push(member(name, Some(60), &json!({"spec": template["spec"]})));
    }
    vec![view]
}

fn plan(deployment: &Value, sets: Vec<SetView>) -> Plan {
    let now: Timestamp = now();
    decide(&snapshot(deployment, sets), now)
}

fn push(plan: Plan) -> (Value, Vec<(String, Value)>, Vec<Change>) {
    let Plan::PushDown { patch, machines, changes, .. } = plan else { panic!("{plan}") };
    let name = |machine: &Machine| machine.meta.key.name.to_string();
    let machines = machines.into_iter().map(|(machine, patch)| (name(&machine), patch));
    (patch, machines.collect(), changes)
}

#[test]
fn a_hot_field_is_copied_to_living_machines_and_the_set() {
    let old = tagged(DECLARED, json!({"team": "a", "cost": "1"}));
    let mut sets = set_of(&old, Some("tags"));
    let own = json!({"providerSpec": {"value": {"tags": {"team": "mine", "cost": "1", "x": "y"}}}});
    sets[0].members.push(member("b-3", Some(60), &json!({"spec": own})));
    let done = json!({"providerSpec": {"value": {"tags": {"team": "b", "new": "2"}}}});
    sets[0].members.push(member("b-4", Some(60), &json!({"spec": done})));
    sets[0].members.push(member("b-5", Some(60), &json!({})));
    let new = tagged(DECLARED, json!({"team": "b", "new": "2"}));
    let (patch, machines, changes) = push(plan(&new, sets));
    let spec =
        json!({"providerSpec": {"value": {"tags": {"team": "b", "new": "2", "cost": null}}}});
    let template = json!({"spec": spec});
    assert_eq!(patch, json!({"spec": {"minReadySeconds": 0, "template": template}}));
    let all = ["b-1", "b-2", "b-3"].map(|name| (name.to_owned(), template.clone()));
    assert_eq!(machines, all, "b-4 has it, b-5 has no provider spec");
    let paths: Vec<_> = changes.iter().map(|one| one.path.as_str()).collect();
    let tags = |name| format!("spec.template.spec.providerSpec.value.tags.{name}");
    assert_eq!(paths, [tags("cost"), tags("new"), tags("team")]);
}

#[test]
fn a_list_is_replaced_and_a_field_that_is_gone_is_removed() {
    let old = tagged(DECLARED, json!([{"name": "a", "value": "1"}]));
    let value = |tags: Value| json!({"spec": {"providerSpec": {"value": {"tags": tags}}}});
    for tags in [json!([{"name": "a", "value": "2"}]), Value::Null] {
        let new = tagged(DECLARED, tags.clone());
        let (patch, machines, _) = push(plan(&new, set_of(&old, Some("tags"))));
        assert_eq!(patch["spec"]["template"], value(tags.clone()));
        assert!(machines.iter().all(|(_, patch)| *patch == value(tags.clone())), "{machines:?}");
    }
}

#[test]
fn a_hot_field_with_another_field_rolls() {
    let sets = set_of(&tagged(DECLARED, json!({"team": "a"})), Some("tags"));
    let mut new = tagged(DECLARED, json!({"team": "b"}));
    new["spec"]["template"]["spec"]["providerSpec"]["value"]["instanceType"] = json!("c");
    let Plan::Create { hot_fields, .. } = plan(&new, sets) else { panic!("rolls") };
    assert_eq!(hot_fields.as_deref(), Some("tags"));
}

#[test]
fn a_set_of_an_earlier_version_is_kept_and_records_the_fields() {
    let old = tagged(DECLARED, json!({"team": "a"}));
    let (patch, machines, changes) = push(plan(&old, set_of(&old, None)));
    assert!(machines.is_empty() && changes.is_empty(), "{machines:?} {changes:?}");
    let hash = template::hash_on(&read(&old).spec.template, Some("tags")).unwrap();
    let metadata = json!({
        "labels": {LABEL_TEMPLATE_HASH: hash},
        "annotations": {ANNOTATION_HOT_FIELDS: "tags"},
    });
    let expected = json!({"metadata": metadata, "spec": {"minReadySeconds": 0}});
    assert_eq!(patch, expected);
}

#[test]
fn what_a_set_records_counts_without_its_provider() {
    let old = tagged(UNKNOWN, json!({"team": "a"}));
    let new = tagged(UNKNOWN, json!({"team": "b"}));
    let (patch, machines, _) = push(plan(&new, set_of(&old, Some("tags"))));
    assert_eq!((machines.len(), patch.get("metadata")), (2, None));
    // Without either, it is part of the recipe.
    assert!(matches!(plan(&new, set_of(&old, None)), Plan::Create { hot_fields: None, .. }));
    let same = plan(&old, set_of(&old, None)).to_string();
    assert!(same.starts_with("scale") || same.starts_with("no-op"), "{same}");
}

#[test]
fn a_provider_spec_without_hot_fields_in_it_is_pushed_nothing() {
    let mut plain = tagged(DECLARED, Value::Null);
    assert!(!matches!(plan(&plain, set_of(&plain, Some("tags"))), Plan::PushDown { .. }));
    plain["spec"]["minReadySeconds"] = json!(7);
    let sets = set_of(&tagged(DECLARED, Value::Null), Some("tags"));
    let (_, _, changes) = push(plan(&plain, sets));
    let [one] = changes.try_into().unwrap();
    assert_eq!((one.path.as_str(), one.to.as_deref()), ("spec.minReadySeconds", Some("7")));
}
