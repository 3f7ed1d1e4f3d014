//! Whole rollouts as the plans that `--dry-run` logs, in order. What executes them is a model without time lags: sets
//! have the Machines that they want at once, and whenever nothing is to be done, Machines become ready or are gone.

use std::sync::Arc;
use std::time::Duration;

use machinist_api::names::{
    ANNOTATION_CANARY_PASSED, ANNOTATION_FAILED_MACHINES, ANNOTATION_REVISION,
    ANNOTATION_ROLLOUT_ABORTED, ANNOTATION_ROLLOUT_STARTED, LABEL_TEMPLATE_HASH,
};
use machinist_runtime::cache::kind::Kind as _;

use super::super::super::in_place::{Step, hold_patch, move_patch, release_patch};
use super::super::super::plan::{Finding, set_name};
use super::super::super::samples::{Unread, template_of};
use super::super::super::template::patched;
use super::*;
use crate::kinds::MachineSets;

struct Story {
    deployment: Value,
    sets: Vec<Value>,
    /// With the time since which they are ready.
    machines: Vec<(Value, Option<Timestamp>)>,
    /// New Machines fail.
    broken: bool,
    now: Timestamp,
    log: Vec<String>,
}

/// A merge patch.
fn patch(object: &mut Value, patch: &Value) {
    *object = patched(object.as_object().unwrap(), patch.as_object().unwrap()).into();
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Story {
    /// Three Machines of type `a`.
    fn new(strategy: &Value) -> Self {
        let mut source = deployment();
        source["metadata"]["annotations"] = json!({});
        source["spec"]["template"] = template_of("a");
        source["spec"]["strategy"] = strategy.clone();
        let (sets, machines, log) = (Vec::new(), Vec::new(), Vec::new());
        let mut story = Self { deployment: source, sets, machines, broken: false, now: now(), log };
        story.tell("create");
        story
    }

    fn edit(&mut self, kind: &str, what: &str) {
        self.deployment["spec"]["template"] = template_of(kind);
        self.tell(what);
    }

    /// Until nothing changes any more.
    fn tell(&mut self, what: &str) {
        self.log.push(format!("# {what}"));
        for _ in 0..60 {
            let plan = decide(&self.snapshot(), self.now);
            self.log.push(plan.to_string());
            self.execute(&plan);
            let Plan::NoOp(reason) = plan else { continue };
            if !self.pass(reason) {
                return;
            }
        }
        panic!("it does not end: {:#?}", self.log);
    }

    fn snapshot(&self) -> Snapshot {
        let kind = MachineSets::new(Arc::new(Unread));
        let sets = self.sets.iter().map(|set| {
            let owned = |(machine, _): &&(Value, Option<Timestamp>)| owner(machine) == name(set);
            let (leaving, members): (Vec<_>, Vec<_>) =
                self.machines.iter().filter(owned).partition(|(machine, _)| is_leaving(machine));
            let members =
                members.into_iter().map(|(machine, ready)| super::super::super::snapshot::Member {
                    ready: ready.map(Some),
                    ..member(name(machine), None, machine)
                });
            SetView {
                set: Arc::new(kind.project(serde_json::from_str(&set.to_string()).unwrap())),
                members: members.collect(),
                leaving: leaving.len(),
                open: 0,
                late: None,
            }
        });
        snapshot(&self.deployment, sets.collect())
    }

    fn set(&mut self, name: &str) -> &mut Value {
        let mut sets = self.sets.iter_mut();
        sets.find(|set| text(set, "/metadata/name") == name).unwrap()
    }

    fn machine(&mut self, name: &str) -> &mut Value {
        let mut machines = self.machines.iter_mut().map(|(machine, _)| machine);
        machines.find(|machine| text(machine, "/metadata/name") == name).unwrap()
    }

    fn annotate(&mut self, set: &Arc<MachineSet>, annotations: &Value) {
        patch(self.set(set_name(set)), &json!({"metadata": {"annotations": annotations}}));
    }

    fn execute(&mut self, plan: &Plan) {
        let time = format!("v1 {}", self.now);
        match plan {
            Plan::NoOp(_) => {}
            Plan::Create { name, hash, revision, .. } => self.create(name, hash, *revision),
            Plan::SetRevision { set, revision, started, .. } => {
                let started = started.map(|_| time);
                let revision = revision.to_string();
                self.annotate(
                    set,
                    &json!({ANNOTATION_REVISION: revision, ANNOTATION_ROLLOUT_STARTED: started}),
                );
            }
            Plan::AnnotateRevision { revision, .. } => {
                let annotations = json!({ANNOTATION_REVISION: revision.to_string()});
                patch(&mut self.deployment, &json!({"metadata": {"annotations": annotations}}));
            }
            Plan::Guard { set, finding, .. } => {
                let annotations = match finding {
                    Finding::CanaryPassed(_) | Finding::Complete(_) => {
                        json!({ANNOTATION_CANARY_PASSED: time})
                    }
                    Finding::Failed(failed, aborted) => json!({
                        ANNOTATION_FAILED_MACHINES: failed.to_text(),
                        ANNOTATION_ROLLOUT_ABORTED: aborted.map(|_| time),
                    }),
                };
                self.annotate(set, &annotations);
            }
            Plan::Scale(sizes) => {
                for one in sizes {
                    let set = set_name(&one.set);
                    self.set(set)["spec"]["replicas"] = json!(one.to);
                    self.manage(set, one.to);
                }
            }
            Plan::InPlace(step) => self.update_in_place(step),
            other => panic!("not expected: {other}"),
        }
    }

    fn update_in_place(&mut self, step: &Step) {
        match step {
            Step::Mark(machines) => {
                for (machine, mark) in machines {
                    patch(self.machine(&machine.meta.key.name), &mark.patch());
                }
            }
            Step::Hold { set, hold } => patch(self.set(set_name(set)), &hold_patch(hold)),
            Step::Move { machine, from, to } => {
                let moved = move_patch(machine, from, to).unwrap();
                patch(self.machine(&machine.meta.key.name), &moved);
            }
            Step::Release { set, size, .. } => {
                patch(self.set(set_name(set)), &release_patch(*size));
            }
        }
    }

    fn create(&mut self, name: &str, hash: &str, revision: i64) {
        let mut template = self.deployment["spec"]["template"].clone();
        template["metadata"]["labels"][LABEL_TEMPLATE_HASH] = json!(hash);
        self.sets.push(json!({
            "metadata": {
                "name": name, "namespace": "ns", "uid": name, "resourceVersion": "5",
                "creationTimestamp": self.now.to_string(),
                "labels": template["metadata"]["labels"],
                "annotations": {ANNOTATION_REVISION: revision.to_string()},
                "ownerReferences": [{
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment",
                    "name": "web", "uid": "web-uid", "controller": true,
                }],
            },
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": template["metadata"]["labels"]},
                "template": template,
            },
        }));
    }

    /// What the MachineSet controller does: those that are not ready go first.
    fn manage(&mut self, set: &str, size: usize) {
        let owned = |machine: &Value| owner(machine) == set && !is_leaving(machine);
        let members = self.machines.iter().filter(|(machine, _)| owned(machine)).count();
        let template = self.set(set)["spec"]["template"].clone();
        for _ in members..size {
            let ever = self.machines.len();
            let name = format!("m{ever}");
            self.machines.push((
                json!({
                    "metadata": {
                        "name": name, "uid": name, "labels": template["metadata"]["labels"],
                        "creationTimestamp": self.now.to_string(),
                        "ownerReferences": [{
                            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
                            "name": set, "uid": set, "controller": true,
                        }],
                    },
                    "spec": template["spec"],
                    "status": {"phase": "Provisioning"},
                }),
                None,
            ));
        }
        let mut members: Vec<_> =
            self.machines.iter_mut().filter(|(machine, _)| owned(machine)).collect();
        members.sort_by_key(|(_, ready)| ready.is_some());
        let excess = members.len().saturating_sub(size);
        for (machine, _) in members.into_iter().take(excess) {
            machine["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
        }
    }

    /// Whether anything happens by itself.
    fn pass(&mut self, reason: Reason) -> bool {
        let minutes = if matches!(reason, Reason::Canary(_)) { 11 } else { 1 };
        self.now += Duration::from_secs(60 * minutes);
        let mut changed = matches!(reason, Reason::Canary(_));
        for (machine, ready) in &mut self.machines {
            let before = (machine.clone(), *ready);
            if is_leaving(machine) {
                machine["metadata"]["ownerReferences"] = json!([]);
            } else if ready.is_none() && self.broken {
                machine["status"]["phase"] = json!("Failed");
            } else if ready.is_none() {
                let node = json!({"name": text(machine, "/metadata/name"), "uid": "n"});
                machine["status"] = json!({"phase": "Running", "nodeRef": node});
                *ready = Some(self.now - Duration::from_secs(1));
            }
            work_in_place(machine);
            changed |= (machine.clone(), *ready) != before;
        }
        changed
    }
}

/// The part of the Machine's controller and of the agent.
fn work_in_place(machine: &mut Value) {
    let labels = &machine["metadata"]["labels"];
    let is_selected = labels["machinist.dev/in-place-update"] == "selected";
    let result = json!({"machinist.dev/in-place-update-result": "successful"});
    let target = &machine["metadata"]["annotations"]["machinist.dev/in-place-update-target"];
    if is_selected && target.is_string() {
        let ready = json!([
            {"type": "InPlaceUpdate", "status": "False", "reason": "ReadyForUpdate"}
        ]);
        let (metadata, status) = (json!({"labels": result}), json!({"conditions": ready}));
        patch(machine, &json!({"metadata": metadata, "status": status}));
    } else if machine["status"]["conditions"].is_array() {
        patch(machine, &json!({"status": {"conditions": null}}));
    }
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

fn owner(machine: &Value) -> &str {
    text(machine, "/metadata/ownerReferences/0/name")
}

fn is_leaving(machine: &Value) -> bool {
    machine["metadata"]["deletionTimestamp"].is_string()
}

#[test]
fn plans_of_a_rolling_update() {
    let mut story = Story::new(&json!({"type": "RollingUpdate"}));
    story.edit("b", "another type");
    insta::assert_snapshot!("rolling_update", story.log.join("\n"));
}

#[test]
fn plans_of_a_canary() {
    let canary = json!({"canary": {"soakSeconds": 600}});
    let mut story = Story::new(&json!({"rollingUpdate": canary}));
    story.edit("b", "another type");
    insta::assert_snapshot!("canary", story.log.join("\n"));
}

#[test]
fn plans_of_an_abort() {
    let abort = json!({"abort": {"failedMachines": 1}});
    let mut story = Story::new(&json!({"rollingUpdate": abort}));
    story.broken = true;
    story.edit("b", "a type whose Machines fail");
    story.broken = false;
    story.edit("a", "the former type");
    insta::assert_snapshot!("abort", story.log.join("\n"));
}

#[test]
fn plans_of_an_update_in_place() {
    let mut story = Story::new(&json!({"type": "InPlaceUpdate"}));
    story.edit("b", "another type, which the provider changes in place");
    insta::assert_snapshot!("in_place", story.log.join("\n"));
}
