//! What is kept of a MachineSet, for whom.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;

struct Nothing;

impl SpecHalf for Nothing {
    fn shape(&self, _: &RawValue) -> Result<Shape, SpecError> {
        Err(SpecError::Missing)
    }
}

fn object(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "7", "generation": 4,
            "annotations": {"machinist.dev/ordinals": "3..5"}},
        "spec": {
            "replicas": 3, "minReadySeconds": 10, "deletePolicy": "Oldest",
            "selector": {"matchLabels": {"set": "a"}},
            "template": {
                "metadata": {"labels": {"set": "a"}, "annotations": {"b": "c"}},
                "spec": {"providerSpec": {"value": {"unknown": [1, {"deep": 2.50}]}}, "ours": null},
            },
        },
        "status": {"replicas": 2, "labelSelector": "set=a", "authoritativeAPI": "MachineAPI",
            "conditions": [{"type": "Theirs", "status": "True"}]},
    })
}

fn read(kind: &MachineSets, value: &Value) -> MachineSet {
    kind.project(serde_json::from_str(&value.to_string()).unwrap())
}

fn children(value: &Value) -> Children {
    let set = read(&MachineSets::new(Arc::new(Nothing)).with_children(), value);
    Arc::unwrap_or_clone(set.children.unwrap())
}

#[test]
fn what_a_set_says_of_its_machines_is_kept_only_where_somebody_asked() {
    assert_eq!(read(&MachineSets::new(Arc::new(Nothing)), &object("a")).children, None);
    let children = children(&object("a"));
    assert_eq!((children.generation, children.replicas), (4, Some(3)));
    assert_eq!(children.selector.unwrap().to_string(), "set=a");
    assert_eq!(children.delete_policy, Ok(DeletePolicy::Oldest));
    assert_eq!(children.min_ready.as_secs(), 10);
    assert_eq!(children.window.unwrap().to_string(), "3..5");
    assert_eq!((children.status.replicas, children.status.ready), (Some(2), None));
    assert_eq!(children.status.conditions.len(), 1);
}

#[test]
fn the_spec_of_the_template_is_kept_word_for_word() {
    let object = object("a");
    let kept: Value = serde_json::from_str(&children(&object).template.spec.unwrap()).unwrap();
    assert_eq!(kept, object["spec"]["template"]["spec"]);
}

#[test]
fn identical_templates_are_stored_once() {
    let kind = MachineSets::new(Arc::new(Nothing)).with_children();
    let spec = |name| read(&kind, &object(name)).children.unwrap().template.spec.clone().unwrap();
    let (first, second) = (spec("a"), spec("b"));
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn a_process_that_only_annotates_pays_one_word_for_it() {
    assert_eq!(size_of::<Option<Arc<Children>>>(), size_of::<usize>());
}

#[test]
fn what_is_wrong_is_kept_as_such() {
    let mut object = object("a");
    object["spec"]["selector"] = json!({});
    object["spec"]["deletePolicy"] = json!("Prettiest");
    object["metadata"]["annotations"]["machinist.dev/ordinals"] = json!("v2 3,4");
    let children = children(&object);
    assert!(
        children.selector.is_err() && children.delete_policy.is_err() && children.window.is_err()
    );
}

#[test]
fn what_many_sets_say_of_their_capacity_is_stored_once() {
    let kind = MachineSets::new(Arc::new(Nothing));
    let saying = |name: &str, cpus: &str| {
        let mut object = object(name);
        object["metadata"]["annotations"] = json!({"machine.openshift.io/vCPU": cpus});
        read(&kind, &object).annotations
    };
    let (a, b, other) = (saying("a", "4"), saying("b", "4"), saying("c", "8"));
    assert!(Arc::ptr_eq(&a, &b));
    assert_ne!(a, other);
}
