//! Random updates in place: templates and pauses change, agents succeed and fail, users select, writes are lost, and
//! cordons are removed late, Nodes become unready. In every state that is stored, a MachineSet that is not held has as
//! many Machines as it wants, so none is created or deleted; and `replicas − maxUnavailable` Machines are in service.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::super::super::in_place::{hold_patch, move_patch, release_patch};
use super::super::super::super::samples::{merge, now, read, snapshot, template_of};
use super::super::super::super::template;
use super::*;
use crate::machine_deployment::plan::Resize;

const SIZE: usize = 4;
const RUNS: u64 = 12;
const STEPS: usize = 100;

struct World {
    deployment: Value,
    /// Size and annotations, by the name of the set, which is that of its template.
    sets: BTreeMap<String, (usize, Value)>,
    /// The set and what differs from a new Machine.
    machines: BTreeMap<String, (String, Value)>,
    /// Machines whose Nodes are not ready.
    down: BTreeSet<String>,
    random: fastrand::Rng,
}

fn merge_patch(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        match value {
            Value::Null => drop(into.as_object_mut().unwrap().remove(name)),
            value => merge_patch(&mut into[name.as_str()], value),
        }
    }
}

impl World {
    fn new(seed: u64, unavailable: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let kind = if random.bool() { "Auto" } else { "Manual" };
        let limits = json!({"maxUnavailable": unavailable, "orchestrationType": kind});
        let mut deployment = strategy(&limits);
        deployment["spec"]["replicas"] = json!(SIZE);
        deployment["spec"]["template"] = template_of("a");
        let machines = (0..SIZE).map(|at| (format!("m{at}"), ("a".to_owned(), json!({}))));
        let sets = BTreeMap::from([("a".to_owned(), (SIZE, json!({})))]);
        let down = BTreeSet::new();
        Self { deployment, sets, machines: machines.collect(), down, random }
    }

    fn view(&self) -> Vec<SetView> {
        let one = |(at, (kind, (size, annotations))): (usize, (&String, &(usize, Value)))| {
            let patch = json!({"metadata": {"annotations": annotations}});
            let own = self.machines.iter().filter(|(_, (set, _))| set == kind);
            let mut members: Vec<_> =
                own.map(|(name, (_, mark))| marked(name, mark.clone())).collect();
            for member in &mut members {
                member.ready = member.ready.filter(|_| !self.down.contains(&*member.key.name));
            }
            let revision = i64::try_from(at).unwrap() + 1;
            SetView {
                set: set(kind, *size, revision, &patch),
                members,
                leaving: 0,
                open: 0,
                late: None,
            }
        };
        self.sets.iter().enumerate().map(one).collect()
    }

    /// One reconcile of the MachineDeployment; its write may be lost.
    fn reconcile(&mut self) {
        let mut snapshot = snapshot(&self.deployment, self.view());
        if let Ok(view) = &mut snapshot.content {
            view.listed = true;
        }
        let plan = decide(&snapshot, now());
        if self.random.u8(..) < 50 {
            return;
        }
        match plan {
            Plan::Create { hash, .. } => {
                let kind = ["a", "b", "c"].into_iter().find(|kind| {
                    let mut source = deployment();
                    source["spec"]["template"] = template_of(kind);
                    template::hash_on(&read(&source).spec.template, None).unwrap() == hash
                });
                self.sets.insert(kind.unwrap().to_owned(), (0, json!({})));
            }
            Plan::SetRevision { set, revision, .. } => self.annotate(
                set_name(&set),
                &json!({"machinedeployment.clusters.x-k8s.io/revision": revision.to_string()}),
            ),
            Plan::AnnotateRevision { revision, .. } => {
                let name = "machinedeployment.clusters.x-k8s.io/revision";
                self.deployment["metadata"]["annotations"][name] = json!(revision.to_string());
            }
            Plan::InPlace(Step::Mark(machines)) => {
                for (machine, mark) in machines {
                    let stored = self.machines.get_mut(&*machine.meta.key.name).unwrap();
                    merge_patch(&mut stored.1, &mark.patch());
                    // Some of the writes.
                    if self.random.u8(..) < 50 {
                        return;
                    }
                }
            }
            Plan::InPlace(Step::Hold { set, hold }) => {
                self.annotate(set_name(&set), &hold_patch(&hold)["metadata"]["annotations"]);
            }
            Plan::InPlace(Step::Move { machine, from, to }) => {
                let stored = self.machines.get_mut(&*machine.meta.key.name).unwrap();
                assert_eq!(stored.0, set_name(&from));
                stored.0 = set_name(&to).to_owned();
                let mut patch = move_patch(&machine, &from, &to).unwrap();
                patch["metadata"]["ownerReferences"] = Value::Null;
                patch["spec"] = Value::Null;
                merge_patch(&mut stored.1, &patch);
            }
            Plan::InPlace(Step::Release { set, size, .. }) => {
                let patch = release_patch(size);
                self.annotate(set_name(&set), &patch["metadata"]["annotations"]);
                if let Some((from, to)) = size {
                    let stored = self.sets.get_mut(set_name(&set)).unwrap();
                    assert_eq!(stored.0, from);
                    stored.0 = to;
                }
            }
            Plan::Scale(sizes) => {
                let shown: Vec<_> =
                    sizes.iter().map(|Resize { from, to, .. }| (from, to)).collect();
                panic!("nothing is to be created or deleted: {shown:?}");
            }
            Plan::NoOp(_) => {}
            plan => panic!("{plan}"),
        }
    }

    fn annotate(&mut self, set: &str, annotations: &Value) {
        merge(&mut self.sets.get_mut(set).unwrap().1, annotations);
    }

    /// What the machine controller and the agent do with one Machine, in the order of `machine/in_place.rs`.
    fn advance(&mut self) {
        let at = self.random.usize(..self.machines.len());
        let (_, machine) = self.machines.values_mut().nth(at).unwrap();
        let label = machine.pointer("/metadata/labels/machinist.dev~1in-place-update");
        let selected = label == Some(&json!("selected"));
        let target = machine.pointer("/metadata/annotations/machinist.dev~1in-place-update-target");
        let result = machine.pointer("/metadata/labels/machinist.dev~1in-place-update-result");
        let result = result.and_then(Value::as_str);
        let reason = machine.pointer("/status/conditions/0/reason").and_then(Value::as_str);
        let condition = |reason: &str| {
            let condition = json!({"type": "InPlaceUpdate", "status": "False", "reason": reason});
            json!({"status": {"conditions": [condition]}})
        };
        let patch = match (selected && target.is_some(), result, reason) {
            (false, ..) => json!({"status": {"conditions": null}}),
            (true, Some("failed"), Some("Failed")) if self.random.bool() => {
                json!({"metadata": {"labels": {"machinist.dev/in-place-update-result": null}}})
            }
            (true, Some("failed"), _) => condition("Failed"),
            (true, Some(_), _) => condition("Successful"),
            (true, None, Some("ReadyForUpdate" | "TimedOut")) if self.random.u8(..) < 40 => {
                condition("TimedOut")
            }
            (true, None, Some("ReadyForUpdate" | "TimedOut")) => {
                let result = if self.random.u8(..) < 60 { "failed" } else { "successful" };
                json!({"metadata": {"labels": {"machinist.dev/in-place-update-result": result}}})
            }
            (true, None, Some("Evicting")) => condition("ReadyForUpdate"),
            (true, None, _) => condition("Evicting"),
        };
        merge_patch(machine, &patch);
    }

    fn disturb(&mut self) {
        match self.random.u8(..20) {
            0 | 1 => {
                let kind = ["a", "b", "c"][self.random.usize(..3)];
                self.deployment["spec"]["template"] = template_of(kind);
            }
            2 => self.deployment["spec"]["paused"] = json!(self.random.bool()),
            3..7 => {
                let at = self.random.usize(..self.machines.len());
                let (_, machine) = self.machines.values_mut().nth(at).unwrap();
                let selected = json!({"labels": {"machinist.dev/in-place-update": "selected"}});
                merge_patch(machine, &json!({"metadata": selected}));
            }
            // Often all of them at once, as with a network that fails.
            7 => {
                let all = self.machines.keys().cloned();
                self.down = all.filter(|_| self.random.u8(..) < 180).collect();
            }
            8..11 => self.down.clear(),
            _ => {}
        }
    }

    fn check(&self, unavailable: usize) {
        let view = self.view();
        for one in &view {
            let held = crate::machine_set::hold::Hold::of(&one.set.state).is_some();
            let (wanted, has) = (one.set.state.spec.replicas.unwrap(), one.members.len());
            let fits = usize::try_from(wanted).unwrap() == has;
            assert!(held || fits, "{} wants {wanted} and has {has}", set_name(&one.set));
        }
        let members = view.iter().flat_map(|one| &one.members);
        let out =
            |member: &&Member| crate::in_place::is_unavailable(member.machine.as_deref().unwrap());
        let out = members.filter(out).count();
        assert!(out <= unavailable, "{out} Machines are out of service");
    }
}

#[test]
fn an_update_creates_and_deletes_nothing_and_keeps_its_limit() {
    for seed in 0..RUNS {
        let unavailable = 1 + usize::try_from(seed % 3).unwrap();
        let mut world = World::new(seed, unavailable);
        for _ in 0..STEPS {
            for _ in 0..world.random.usize(..4) {
                world.reconcile();
                world.check(unavailable);
            }
            world.advance();
            world.disturb();
            world.check(unavailable);
        }
        // Undisturbed, everything is updated.
        world.down.clear();
        world.deployment["spec"]["paused"] = json!(false);
        world.deployment["spec"]["template"] = template_of("c");
        let is_done = |world: &World| world.machines.values().all(|(set, _)| set == "c");
        for _ in 0..3000 {
            if is_done(&world) {
                break;
            }
            world.reconcile();
            world.advance();
            let (_, machine) = world.machines.values_mut().nth(world.random.usize(..SIZE)).unwrap();
            let label = machine.pointer("/metadata/labels/machinist.dev~1in-place-update");
            if label == Some(&json!("candidate")) {
                let selected = json!({"labels": {"machinist.dev/in-place-update": "selected"}});
                merge_patch(machine, &json!({"metadata": selected}));
            }
            world.check(unavailable);
        }
        assert!(is_done(&world), "seed {seed}: {:?}", world.machines);
    }
}
