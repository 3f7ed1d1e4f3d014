use machinist_domain::shape::Shape;
use machinist_provider::spec::SpecError;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;

#[derive(Debug)]
struct NoSpecs;

impl SpecHalf for NoSpecs {
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

fn kind<S: State>() -> MachineSets<S> {
    MachineSets::new(Arc::new(NoSpecs))
}

fn read<S: State>(kind: &MachineSets<S>, value: &Value) -> MachineSet<S> {
    kind.project(serde_json::from_str(&value.to_string()).unwrap())
}

fn state(value: &Value) -> MachineSetState {
    Arc::unwrap_or_clone(read(&kind(), value).state)
}

#[test]
fn stores_spec_window_and_status() {
    let state = state(&object("a"));
    assert_eq!((state.generation, state.spec.replicas), (4, Some(3)));
    assert_eq!(state.spec.selector.unwrap().to_string(), "set=a");
    assert_eq!(state.spec.delete_policy, Ok(DeletePolicy::Oldest));
    assert_eq!(state.spec.min_ready.as_secs(), 10);
    assert_eq!(state.window.unwrap().to_string(), "3..5");
    assert_eq!((state.status.replicas, state.status.ready), (Some(2), None));
    assert_eq!(state.status.conditions.len(), 1);
}

#[test]
fn stores_the_template_spec_unchanged() {
    let object = object("a");
    let kept: Value = serde_json::from_str(&state(&object).spec.template.spec.unwrap()).unwrap();
    assert_eq!(kept, object["spec"]["template"]["spec"]);
}

#[test]
fn stores_identical_templates_once() {
    let kind = kind::<Arc<MachineSetState>>();
    let spec = |name| read(&kind, &object(name)).state.spec.template.spec.clone().unwrap();
    let (first, second) = (spec("a"), spec("b"));
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn without_state_costs_no_memory() {
    let full = size_of::<MachineSet>();
    assert_eq!(full - size_of::<MachineSet<NoState>>(), size_of::<usize>());
}

#[test]
fn stores_invalid_values_as_errors() {
    let mut object = object("a");
    object["spec"]["selector"] = json!({});
    object["spec"]["deletePolicy"] = json!("Prettiest");
    object["metadata"]["annotations"]["machinist.dev/ordinals"] = json!("v2 3,4");
    let MachineSetState { spec, window, .. } = state(&object);
    assert!(spec.selector.is_err() && spec.delete_policy.is_err() && window.is_err());
}

#[test]
fn stores_equal_capacity_annotations_once() {
    let kind = kind::<NoState>();
    let annotations = |name: &str, cpus: &str| {
        let mut object = object(name);
        object["metadata"]["annotations"] = json!({"machine.openshift.io/vCPU": cpus});
        read(&kind, &object).scalable.annotations
    };
    let (a, b, other) = (annotations("a", "4"), annotations("b", "4"), annotations("c", "8"));
    assert!(Arc::ptr_eq(&a, &b));
    assert_ne!(a, other);
}
