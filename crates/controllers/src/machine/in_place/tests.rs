use std::collections::{BTreeSet, HashMap};

use machinist_domain::observed::Observed;
use machinist_provider::cloud::InstanceState;
use machinist_runtime::cache::kind::Kind as _;

use super::super::decide::decide as decide_all;
use super::super::plan::{Outcome, Plan};
use super::super::report::report as report_all;
use super::super::samples::{all, instance, merge, now, object, recorded, snapshot, view_of};
use super::*;
use crate::drain::Subject;
use crate::kinds::Nodes;

/// A Machine and its Node; the cordon of a drain is executed as the drain does it.
struct World {
    machine: Value,
    node: Value,
    at: Timestamp,
}

fn selected(target: &str) -> Value {
    json!({"metadata": {
        "labels": {"machinist.dev/in-place-update": "selected"},
        "annotations": {"machinist.dev/in-place-update-target": target},
    }})
}

fn unmarked() -> Value {
    json!({"metadata": {
        "labels": {"machinist.dev/in-place-update": null, "machinist.dev/in-place-update-result": null},
        "annotations": {"machinist.dev/in-place-update-target": null},
    }})
}

fn result(result: &str) -> Value {
    json!({"metadata": {"labels": {"machinist.dev/in-place-update-result": result}}})
}

impl World {
    fn new(cordoned: bool) -> Self {
        let linked = json!({"status": {"nodeRef": {"name": "n", "uid": "uid-n"}}});
        let machine = object(&all(&[recorded(), linked]));
        let node = json!({
            "metadata": {"name": "n", "uid": "uid-n", "resourceVersion": "1"},
            "spec": {"providerID": "p:///i-1", "unschedulable": cordoned},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        Self { machine, node, at: now() }
    }

    fn view(&self) -> View {
        let mut view = view_of(&self.machine);
        let node = Nodes.project(serde_json::from_str(&self.node.to_string()).unwrap());
        let node = std::sync::Arc::new(node);
        view.node = Some(std::sync::Arc::clone(&node));
        view.observed = Observed::Present(instance(InstanceState::Running));
        if is_draining(&view) {
            let subject = Subject::in_place(&view.machine, Some(&node));
            let mut drain = drain::View::new(subject, view.rules.timings, HashMap::default());
            drain.node = Observed::Present(node);
            drain.pods = Observed::Present(Vec::new());
            drain.orphaned = Observed::Present(BTreeSet::new());
            drain.volumes = Observed::Present(Vec::new());
            view.drain = Some(Box::new(drain));
        }
        view
    }

    /// One reconcile: what it does, and the condition afterwards.
    fn reconcile(&mut self) -> (String, String) {
        let snapshot = snapshot(self.view());
        let plan = decide_all(&snapshot, self.at);
        let mut outcome = Outcome::Done;
        match &plan {
            Plan::InPlace(Step::Take(result)) => merge(
                &mut self.machine,
                &json!({"metadata": {"labels": {"machinist.dev/in-place-update-result": result.as_str()}}}),
            ),
            Plan::InPlace(Step::Drain(drain)) => {
                let mark = drain.cordon.unwrap().to_string();
                let patch = json!({
                    "metadata": {"annotations": {"machinist.dev/drain": mark}},
                    "spec": {"unschedulable": true},
                });
                merge(&mut self.node, &patch);
                let cordon = Some(drain::CordonOutcome::Cordoned);
                outcome = Outcome::Drained(drain::Outcome { cordon, ..drain::Outcome::default() });
            }
            Plan::InPlace(step) => merge(&mut self.node, &step.node_patch().unwrap()),
            _ => {}
        }
        let report = report_all(&snapshot, &plan, &outcome, self.at);
        if let Some(status) = report.status {
            merge(&mut self.machine, &json!({"status": status}));
        }
        (plan.to_string(), self.condition())
    }

    fn condition(&self) -> String {
        let list = self.machine["status"]["conditions"].as_array();
        let mut list = list.into_iter().flatten();
        let found = list.find(|one| one["type"] == "InPlaceUpdate");
        found.map_or_else(String::new, |one| {
            format!("{}/{}", one["status"].as_str().unwrap(), one["reason"].as_str().unwrap())
        })
    }

    /// Reconciles until nothing changes; what was done, without the reads of the instance.
    fn settle(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        for _ in 0..20 {
            let before = (self.machine.clone(), self.node.clone());
            let (plan, _) = self.reconcile();
            if !plan.starts_with("update status") {
                done.push(plan);
            }
            if before == (self.machine.clone(), self.node.clone()) {
                return done;
            }
        }
        panic!("it does not settle: {done:?}");
    }

    fn mark(&self) -> Option<&str> {
        self.node.pointer("/metadata/labels/machinist.dev~1in-place-update")?.as_str()
    }

    fn result(&self) -> Option<&str> {
        self.node.pointer("/metadata/labels/machinist.dev~1in-place-update-result")?.as_str()
    }

    fn is_cordoned(&self) -> bool {
        self.node["spec"]["unschedulable"] == true
    }
}

#[test]
fn a_selected_machine_is_drained_updated_by_the_agent_and_put_back_into_service() {
    let mut world = World::new(false);
    assert_eq!(world.settle(), [""; 0]);
    assert_eq!(world.condition(), "");
    merge(&mut world.machine, &selected("b"));
    let expected = [
        "mark the Node for an update in place to b",
        "update in place: drain: Cordoning, cordon the node",
        "admit the agent that updates the Node in place",
    ];
    assert_eq!(world.settle(), expected);
    assert_eq!(world.condition(), "False/ReadyForUpdate");
    assert_eq!((world.mark(), world.is_cordoned()), (Some("ready-for-update"), true));
    merge(&mut world.node, &result("successful"));
    assert_eq!(world.settle(), ["store the result of the update in place: successful"]);
    assert_eq!(world.condition(), "True/Successful");
    assert!(world.is_cordoned(), "it is moved first");
    merge(&mut world.machine, &unmarked());
    assert_eq!(world.settle(), ["uncordon the Node after the update in place"]);
    assert_eq!((world.mark(), world.is_cordoned()), (None, false));
    assert_eq!(world.condition(), "");
    assert_eq!(world.node["metadata"]["annotations"], json!({}));
}

#[test]
fn a_cordon_of_a_user_stays() {
    let mut world = World::new(true);
    merge(&mut world.machine, &selected("b"));
    world.settle();
    merge(&mut world.node, &result("successful"));
    world.settle();
    merge(&mut world.machine, &unmarked());
    assert_eq!(world.settle(), ["remove the marks of the update in place from the Node"]);
    assert_eq!((world.mark(), world.is_cordoned()), (None, true));
}

#[test]
fn a_selection_that_is_taken_back_never_admits_the_agent() {
    let mut world = World::new(false);
    merge(&mut world.machine, &selected("b"));
    world.reconcile();
    world.reconcile();
    merge(&mut world.machine, &unmarked());
    assert_eq!(world.settle(), ["uncordon the Node after the update in place"]);
    assert_eq!((world.mark(), world.condition()), (None, String::new()));
}

#[test]
fn a_failed_update_is_tried_again_without_its_result_or_with_another_target() {
    for retry in [selected("c"), json!({})] {
        let mut world = World::new(false);
        merge(&mut world.machine, &selected("b"));
        world.settle();
        merge(&mut world.node, &result("failed"));
        assert_eq!(world.settle(), ["store the result of the update in place: failed"]);
        assert_eq!(world.condition(), "False/Failed");
        assert_eq!(world.result(), Some("failed"), "to the agent it is no other offer");
        assert!(world.is_cordoned());
        merge(
            &mut world.machine,
            &json!({"metadata": {"labels": {"machinist.dev/in-place-update-result": null}}}),
        );
        merge(&mut world.machine, &retry);
        let done = world.settle();
        assert!(done[0].starts_with("mark the Node for an update in place to"), "{done:?}");
        assert_eq!(world.condition(), "False/ReadyForUpdate");
        assert_eq!((world.mark(), world.result()), (Some("ready-for-update"), None));
    }
}

#[test]
fn the_time_of_a_drain_begins_with_its_update_and_the_cordon_is_still_ours() {
    for uncordoned in [false, true] {
        let mut world = World::new(false);
        merge(&mut world.machine, &selected("b"));
        world.settle();
        merge(&mut world.node, &result("failed"));
        world.settle();
        world.at += Duration::from_hours(9);
        if uncordoned {
            merge(&mut world.node, &json!({"spec": {"unschedulable": false}}));
        }
        merge(&mut world.machine, &unmarked());
        merge(&mut world.machine, &selected("c"));
        world.settle();
        let mark = world.node["metadata"]["annotations"]["machinist.dev/drain"].as_str().unwrap();
        let expected = Mark { started: world.at, cordoned: true };
        assert_eq!(Mark::read(mark), Some(expected), "{uncordoned}");
    }
}

#[test]
fn a_condition_of_an_earlier_update_is_not_taken_for_a_drain() {
    let mut world = World::new(false);
    let condition = json!({"type": "InPlaceUpdate", "status": "True", "reason": "Successful"});
    merge(&mut world.machine, &json!({"status": {"conditions": [condition]}}));
    merge(&mut world.machine, &selected("c"));
    // The status that the first step has is lost.
    world.node["metadata"]["labels"] = json!({"machinist.dev/in-place-update": "draining"});
    world.node["metadata"]["annotations"] = json!({"machinist.dev/in-place-update-target": "c"});
    assert_eq!(world.reconcile().0, "update in place: drain: Cordoning, cordon the node");
}

#[test]
fn an_update_without_a_result_is_reported_once_its_time_is_over_and_still_counts_then() {
    let mut world = World::new(false);
    merge(&mut world.machine, &selected("b"));
    merge(
        &mut world.machine,
        &json!({"metadata": {"annotations": {"machinist.dev/in-place-update-timeout": "5m"}}}),
    );
    world.settle();
    let report = report(&world.view(), None, world.at);
    let minutes = Duration::from_secs(300);
    assert_eq!(report.again, Some(minutes));
    world.at += minutes;
    world.settle();
    assert_eq!(world.condition(), "False/TimedOut");
    merge(&mut world.node, &result("successful"));
    world.settle();
    assert_eq!(world.condition(), "True/Successful");
}

#[test]
fn a_node_that_registers_again_is_drained_again() {
    let mut world = World::new(false);
    merge(&mut world.machine, &selected("b"));
    world.settle();
    world.node = World::new(false).node;
    let expected = [
        "mark the Node for an update in place to b",
        "update in place: drain: Cordoning, cordon the node",
        "admit the agent that updates the Node in place",
    ];
    assert_eq!(world.settle(), expected);
}
