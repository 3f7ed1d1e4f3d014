use serde_json::json;

use super::*;

#[derive(Debug)]
struct Zones;

impl SpecHalf for Zones {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        let spec: serde_json::Value = serde_json::from_str(spec.get()).unwrap();
        let zone = spec["zone"].as_str().ok_or(SpecError::Missing)?;
        Ok(Shape {
            instance_type: "t".into(),
            region: None,
            zone: Some(zone.into()),
            root_disk_gib: None,
            credentials_secret: None,
        })
    }
}

fn kind() -> Machines {
    Machines::new(Arc::new(Zones))
}

fn read(kind: &Machines, name: &str, spec: &serde_json::Value) -> Machine {
    let object = json!({
        "metadata": {
            "name": name, "namespace": "ns", "uid": name, "resourceVersion": "7", "generation": 2,
            "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T04:04:05Z",
            "finalizers": ["machine.machine.openshift.io"],
            "labels": {"a": "b"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "other"},
                {"apiVersion": "g/v1", "kind": "MachineSet", "name": "set", "uid": "set-uid", "controller": true},
            ],
        },
        "spec": {
            "providerID": "", "providerSpec": {"value": spec},
            "lifecycleHooks": {"preDrain": [{"name": "wait", "owner": "me"}]},
        },
        "status": {
            "phase": "Running", "nodeRef": {"kind": "Node", "name": "n", "uid": "nu"},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Odd", "address": "x"}],
            "conditions": [{"type": "InstanceExists", "status": "True"}],
            "providerStatus": {"launch": {"attempt": 3}}, "authoritativeAPI": "Migrating",
        },
    });
    kind.project(serde_json::from_str(&object.to_string()).unwrap())
}

#[test]
fn the_cluster_that_the_label_names() {
    let labelled = |labels: serde_json::Value| {
        let object = json!({"metadata": {"name": "m", "labels": labels}});
        let machine = kind().project(serde_json::from_str(&object.to_string()).unwrap());
        machine.cluster_label().map(str::to_owned)
    };
    let (label, former) = (LABEL_CLUSTER, LABEL_CLUSTER_LEGACY);
    assert_eq!(labelled(json!({label: "a", former: "b"})).as_deref(), Some("a"));
    assert_eq!(labelled(json!({former: "b"})).as_deref(), Some("b"));
    assert_eq!(labelled(json!({label: ""})), None);
    assert_eq!(labelled(json!({})), None);
}

#[test]
fn a_machine_is_kept_with_what_controllers_read() {
    let machine = read(&kind(), "m", &json!({"zone": "z"}));
    assert_eq!(machine.status.phase, Some(Phase::Running));
    assert_eq!(machine.provider_id, None, "an empty word is none");
    assert_eq!(machine.shape().unwrap().zone.as_deref(), Some("z"));
    assert!(machine.has_finalizer());
    assert_eq!(machine.owner.as_ref().map(|owner| &*owner.name), Some("set"));
    assert_eq!(machine.other_owners.len(), 1);
    assert_eq!(machine.status.addresses.len(), 1);
    assert_eq!(machine.hooks.pre_drain[0].name.as_ref(), "wait");
    assert_eq!(machine.status.authority, MachineAuthority::Migrating);
    assert!(machine.meta.deleting);
    assert!(machine.condition("InstanceExists").is_some_and(Condition::is_true));
}

#[test]
fn identical_specs_are_stored_once_and_different_ones_are_not_mixed_up() {
    let kind = kind();
    let one = read(&kind, "a", &json!({"zone": "z"}));
    let two = read(&kind, "b", &json!({"zone": "z"}));
    let other = read(&kind, "c", &json!({"zone": "y"}));
    let spec = |machine: &Machine| machine.provider_spec.clone().unwrap();
    assert!(Arc::ptr_eq(&spec(&one), &spec(&two)));
    assert_eq!(spec(&other).shape.as_ref().unwrap().zone.as_deref(), Some("y"));
}

#[test]
fn what_machines_of_a_set_say_alike_is_stored_once() {
    let kind = kind();
    let (one, two) = (read(&kind, "a", &json!({})), read(&kind, "b", &json!({})));
    assert!(Arc::ptr_eq(one.owner.as_ref().unwrap(), two.owner.as_ref().unwrap()));
    assert!(Arc::ptr_eq(&one.status.conditions, &two.status.conditions));
    assert!(std::ptr::eq(one.labels.get("a").unwrap(), two.labels.get("a").unwrap()));
}

/// Thousands are stored. With the counts of an `Arc` it fits into 512 bytes, and allocators give out 640 next.
#[test]
fn a_machine_is_small() {
    let bytes = size_of::<Machine>();
    assert!(bytes <= 512 - 16, "{bytes}");
}

#[test]
fn a_bad_spec_is_kept_with_what_is_wrong_with_it() {
    assert_eq!(read(&kind(), "m", &json!({})).shape(), Err(SpecError::Missing));
}
