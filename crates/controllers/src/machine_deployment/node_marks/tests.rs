use machinist_runtime::cache::kind::Kind as _;

use super::*;
use crate::kinds::Nodes;

const ON: &str = ANNOTATION_SCALE_DOWN_DISABLED;
const BY: &str = ANNOTATION_SCALE_DOWN_DISABLED_BY;
const OLD: Marks = Marks { scale_down_disabled: true, prefer_no_schedule: true };
const NEW: Marks = Marks { scale_down_disabled: true, prefer_no_schedule: false };
const NONE: Marks = Marks { scale_down_disabled: false, prefer_no_schedule: false };

fn web() -> ObjectKey {
    ObjectKey::new("ns", "web")
}

fn read(node: &Value) -> Node {
    Nodes.project(serde_json::from_str(&node.to_string()).unwrap())
}

fn node(annotations: &Value, taints: &Value) -> Value {
    json!({"metadata": {"name": "n", "annotations": annotations}, "spec": {"taints": taints}})
}

fn patched(node: &Value, wanted: Marks) -> Value {
    patch(&read(node), &web(), wanted).unwrap_or_default()
}

/// As the API server stores it.
fn merge(into: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else { return *into = patch.clone() };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut into[name], value);
        }
    }
}

fn prefer() -> Value {
    json!({"key": "machinist.dev/prefer-no-schedule", "effect": "PreferNoSchedule"})
}

#[test]
fn one_patch_puts_the_marks_and_their_record_on_a_node_and_one_removes_them() {
    let theirs = json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"});
    let mut one = node(&json!({"a": "b"}), &json!([theirs]));
    let (bare, put) = (one.clone(), patched(&one, OLD));
    let annotations = json!({ON: "true", BY: "machinedeployment", ANNOTATION_ROLLOUT: "v1 ns/web prefer-no-schedule"});
    let expected =
        json!({"metadata": {"annotations": annotations}, "spec": {"taints": [theirs, prefer()]}});
    assert_eq!(put, expected);
    merge(&mut one, &put);
    assert_eq!(patched(&one, OLD), Value::Null);
    assert_eq!(deployment_of(&read(&one)), Some(web()));

    // The template is the current one again.
    let back = json!({
        "metadata": {"annotations": {ANNOTATION_ROLLOUT: "v1 ns/web"}}, "spec": {"taints": [theirs]},
    });
    assert_eq!(patched(&one, NEW), back);
    let put = patched(&one, NEW);
    merge(&mut one, &put);
    let gone = json!({"metadata": {"annotations": {ON: null, BY: null, ANNOTATION_ROLLOUT: null}}});
    assert_eq!(patched(&one, NONE), gone);
    let put = patched(&one, NONE);
    merge(&mut one, &put);
    assert_eq!(one, bare);
}

#[test]
fn marks_of_another_deployment_become_those_of_this_one() {
    let mut one = node(&json!({}), &json!([]));
    let put = patch(&read(&one), &ObjectKey::new("ns", "other"), OLD).unwrap();
    merge(&mut one, &put);
    let record = json!({ANNOTATION_ROLLOUT: "v1 ns/web prefer-no-schedule"});
    assert_eq!(patched(&one, OLD), json!({"metadata": {"annotations": record}}));
}

#[test]
fn a_record_of_another_version_keeps_the_node_as_it_is() {
    for record in
        ["v2 ns/web", "v1 web", "v1 ns/web no-execute", "v1 ns/web prefer-no-schedule x", ""]
    {
        let marked = json!({ON: "true", BY: "machinedeployment", ANNOTATION_ROLLOUT: record});
        let one = node(&marked, &json!([prefer()]));
        assert_eq!(deployment_of(&read(&one)), None, "{record:?}");
        for wanted in [OLD, NEW, NONE] {
            assert_eq!(patched(&one, wanted), Value::Null, "{record:?}");
        }
    }
}

/// What happens to a Node during rollouts.
#[derive(Debug, Clone, Copy)]
enum Step {
    Mark(Marks),
    Annotate(Option<&'static str>),
    /// With this value.
    Taint(&'static str),
    Untaint,
}

const STEPS: [Step; 9] = [
    Step::Mark(OLD),
    Step::Mark(NEW),
    Step::Mark(NONE),
    Step::Annotate(Some("true")),
    Step::Annotate(Some("false")),
    Step::Annotate(None),
    Step::Taint(""),
    Step::Taint("mine"),
    Step::Untaint,
];

/// A Node, and what of it a user has set.
#[derive(Debug, Clone)]
struct World {
    node: Value,
    annotation: Option<&'static str>,
    taint: Option<&'static str>,
}

impl World {
    fn is_ours(&self, name: &str, word: &str) -> bool {
        let value = self.node["metadata"]["annotations"][name].as_str();
        value.is_some_and(|value| value.split(' ').any(|one| one == word))
    }

    fn go(&mut self, step: Step) {
        match step {
            Step::Mark(wanted) => {
                if let Some(put) = patch(&read(&self.node), &web(), wanted) {
                    merge(&mut self.node, &put);
                }
                assert_eq!(patched(&self.node, wanted), Value::Null, "{:#}", self.node);
            }
            Step::Annotate(value) => {
                merge(&mut self.node, &json!({"metadata": {"annotations": {ON: value}}}));
                // The same value over ours changes nothing, so it stays ours.
                let same = self.is_ours(BY, "machinedeployment") && value == Some("true");
                self.annotation = if same { None } else { value };
            }
            Step::Taint(value) => {
                let mut taint = prefer();
                if !value.is_empty() {
                    taint["value"] = json!(value);
                }
                merge(&mut self.node, &json!({"spec": {"taints": [taint]}}));
                let same = self.is_ours(ANNOTATION_ROLLOUT, TAINT) && value.is_empty();
                self.taint = if same { None } else { Some(value) };
            }
            Step::Untaint => {
                merge(&mut self.node, &json!({"spec": {"taints": []}}));
                self.taint = None;
            }
        }
    }

    /// What is left when no rollout is under way is a user's, and all of it.
    fn check(&self, steps: &[Step]) {
        let mut end = self.clone();
        end.go(Step::Mark(NONE));
        let annotations = match self.annotation {
            None => json!({}),
            Some(value) => json!({ON: value}),
        };
        assert_eq!(end.node["metadata"]["annotations"], annotations, "{steps:?}");
        let taints = end.node["spec"]["taints"].as_array().unwrap();
        let values: Vec<_> =
            taints.iter().map(|one| one["value"].as_str().unwrap_or_default()).collect();
        assert_eq!(values, Vec::from_iter(self.taint), "{steps:?}");
    }
}

fn every_sequence(world: &World, steps: &mut Vec<Step>, longest: usize) {
    world.check(steps);
    if steps.len() == longest {
        return;
    }
    for step in STEPS {
        let mut next = world.clone();
        next.go(step);
        steps.push(step);
        every_sequence(&next, steps, longest);
        steps.pop();
    }
}

#[test]
fn whatever_users_do_nothing_of_theirs_is_removed_and_nothing_of_ours_stays() {
    let node = node(&json!({}), &json!([]));
    every_sequence(&World { node, annotation: None, taint: None }, &mut Vec::new(), 4);
}

#[test]
fn a_node_has_two_writes_in_a_rollout_even_if_a_user_removes_the_marks() {
    let mut world = World { node: node(&json!({}), &json!([])), annotation: None, taint: None };
    world.go(Step::Mark(OLD));
    world.go(Step::Annotate(None));
    world.go(Step::Untaint);
    assert_eq!(patched(&world.node, OLD), Value::Null);
    assert_ne!(patched(&world.node, NONE), Value::Null);
}
