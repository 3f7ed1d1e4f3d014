use jiff::Timestamp;
use machinist_domain::key::Uid;

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
    set_with(source, fields, None)
}

fn set_with(source: &Value, fields: Option<&str>, pending: Option<&str>) -> Vec<SetView> {
    let hash = template::hash_on(&read(source).spec.template, fields).unwrap();
    let mut annotations = json!({});
    if let Some(fields) = fields {
        annotations[ANNOTATION_HOT_FIELDS] = json!(fields);
    }
    if let Some(pending) = pending {
        annotations[ANNOTATION_PENDING_CHANGES] = json!(pending);
    }
    let metadata = json!({"labels": {LABEL_TEMPLATE_HASH: hash}, "annotations": annotations});
    let template = &source["spec"]["template"];
    let spec = json!({"template": template, "replicas": source["spec"]["replicas"]});
    let set = set("b", 3, 2, &json!({"metadata": metadata, "spec": spec}));
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

fn push(plan: Plan) -> (Value, usize, Vec<Change>) {
    let Plan::PushDown { patch, machines, changes, .. } = plan else { panic!("{plan}") };
    (patch, machines, changes)
}

/// The set after the patch. Its Machines are as they were.
fn pushed(new: &Value, before: Vec<SetView>) -> Vec<SetView> {
    let (patch, ..) = push(plan(new, before.clone()));
    let pending = patch.pointer("/metadata/annotations/machinist.dev~1pending-changes");
    let mut after = set_with(new, Some("tags"), pending.and_then(Value::as_str));
    after[0].members = before.into_iter().next().unwrap().members;
    after
}

fn machines(plan: Plan) -> Vec<(String, Value)> {
    let Plan::PushMachines { machines, .. } = plan else { panic!("{plan}") };
    let name = |machine: &Machine| machine.meta.key.name.to_string();
    machines.into_iter().map(|(machine, patch)| (name(&machine), patch)).collect()
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
    let (patch, count, changes) = push(plan(&new, sets.clone()));
    let spec =
        json!({"providerSpec": {"value": {"tags": {"team": "b", "new": "2", "cost": null}}}});
    let template = json!({"spec": spec});
    assert_eq!(patch["spec"], json!({"minReadySeconds": 0, "template": template}));
    let machines = machines(plan(&new, pushed(&new, sets)));
    let all = ["b-1", "b-2", "b-3"].map(|name| (name.to_owned(), template.clone()));
    assert_eq!((count, &*machines), (3, &all[..]), "b-4 has it, b-5 has no provider spec");
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
        let sets = set_of(&old, Some("tags"));
        let (patch, ..) = push(plan(&new, sets.clone()));
        assert_eq!(patch["spec"]["template"], value(tags.clone()));
        let machines = machines(plan(&new, pushed(&new, sets)));
        assert!(
            machines.len() == 2 && machines.iter().all(|(_, patch)| *patch == value(tags.clone())),
            "{machines:?}"
        );
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
    assert!(machines == 0 && changes.is_empty(), "{machines} {changes:?}");
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
    assert_eq!((machines, patch["metadata"].get("labels")), (2, None));
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

/// What is done once the set has the template.
#[test]
fn a_change_is_pending_until_no_machine_can_miss_it() {
    let (old, new) = (tagged(DECLARED, json!({"t": "a"})), tagged(DECLARED, json!({"t": "b"})));
    let mut sets = pushed(&new, set_of(&old, Some("tags")));
    let text = |sets: &[SetView], listed| {
        let mut snapshot = snapshot(&new, sets.to_vec());
        snapshot.content.as_mut().unwrap().listed = listed;
        decide(&snapshot, now()).to_string()
    };
    assert_eq!(text(&sets, false), "update b-1, b-2 as its template");
    let done = json!({"spec": new["spec"]["template"]["spec"]});
    let (first, second) = (member("b-1", Some(60), &done), member("b-2", Some(60), &done));
    sets[0].members = vec![first.clone(), sets[0].members[1].clone()];
    assert_eq!(text(&sets, true), "update b-2 as its template", "after a crash in the middle");
    let mut refused = snapshot(&new, sets.clone());
    refused.content.as_mut().unwrap().refused.objects.insert(Uid("b-2".into()));
    let waits = decide(&refused, now()).to_string();
    assert!(waits.starts_with("no-op"), "{waits}");
    sets[0].members = vec![first, second];
    assert_eq!(text(&sets, false), "list the Machines of b before its update ends");
    assert_eq!(text(&sets, true), "end the update of the Machines of b");
    let waits = |sets: &[SetView]| assert!(text(sets, true).starts_with("no-op"), "{sets:?}");
    sets[0].open = 1;
    waits(&sets);
    sets[0].open = 0;
    let mut undecodable = sets.clone();
    undecodable[0].members[0].machine = None;
    waits(&undecodable);
    // It was made from the old template while the set was patched.
    let late = json!({"spec": old["spec"]["template"]["spec"]});
    sets[0].members.push(member("b-3", Some(60), &late));
    assert_eq!(text(&sets, true), "update b-3 as its template");
}

#[test]
fn a_change_that_is_put_back_before_all_machines_have_it_is_put_back_on_all() {
    let (old, new) = (tagged(DECLARED, json!({"t": "a"})), tagged(DECLARED, json!({"t": "b"})));
    let mut sets = pushed(&new, set_of(&old, Some("tags")));
    let done = json!({"spec": new["spec"]["template"]["spec"]});
    sets[0].members[0] = member("b-1", Some(60), &done);
    let pending = sets[0].set.state.pending_changes.clone();
    let (patch, ..) = push(plan(&old, sets.clone()));
    assert_eq!(patch.get("metadata"), None, "the same field is pending");
    let mut back = set_with(&old, Some("tags"), pending.as_deref());
    back[0].members = sets.remove(0).members;
    let names: Vec<_> = machines(plan(&old, back)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b-1"]);
}

#[test]
fn many_machines_are_patched_in_several_steps() {
    let of = |tag: &str| {
        let mut all = tagged(DECLARED, json!({"t": tag}));
        all["spec"]["replicas"] = json!(500);
        all
    };
    let (old, new) = (of("a"), of("b"));
    let mut sets = pushed(&new, set_of(&old, Some("tags")));
    let late = json!({"spec": old["spec"]["template"]["spec"]});
    sets[0].members = (0..500).map(|at| member(&format!("b-{at}"), Some(60), &late)).collect();
    assert_eq!(machines(plan(&new, sets.clone())).len(), MACHINES);
    let done = json!({"spec": new["spec"]["template"]["spec"]});
    let first = sets[0].members.iter_mut().take(MACHINES);
    first.for_each(|one| *one = member(&one.key.name, Some(60), &done));
    assert_eq!(machines(plan(&new, sets))[0].0, format!("b-{MACHINES}"), "then the others");
}

#[test]
fn scaling_goes_before_machines_that_differ() {
    let (old, new) = (tagged(DECLARED, json!({"t": "a"})), tagged(DECLARED, json!({"t": "b"})));
    let mut more = new.clone();
    more["spec"]["replicas"] = json!(5);
    let scales = plan(&more, pushed(&new, set_of(&old, Some("tags")))).to_string();
    assert_eq!(scales, "scale b from 3 to 5");
}
