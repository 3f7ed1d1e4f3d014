mod plans;
mod preserved;

use machinist_domain::key::{ObjectKey, Uid};
use serde_json::{Value, json};

use super::super::samples::{deployment, member, now, read, set, snapshot, with_members};
use super::super::snapshot::{SetView, Snapshot};
use super::*;

fn plan(deployment: &Value, sets: Vec<SetView>) -> String {
    decide(&snapshot(deployment, sets), now()).to_string()
}

fn changed(patch: impl FnOnce(&mut Snapshot)) -> String {
    let sets = vec![with_members(set("a", 3, 1, &json!({})), 3, 0)];
    let mut snapshot = snapshot(&deployment(), sets);
    patch(&mut snapshot);
    decide(&snapshot, now()).to_string()
}

/// The old set `a` and the new set `b`, with so many wanted, ready and starting Machines.
fn rolling(old: [usize; 3], new: [usize; 3]) -> Vec<SetView> {
    let one = |kind, revision, [wanted, ready, starting]: [usize; 3]| {
        with_members(set(kind, wanted, revision, &json!({})), ready, starting)
    };
    vec![one("a", 1, old), one("b", 2, new)]
}

#[test]
fn a_new_template_rolls_one_machine_after_the_other() {
    let sets = vec![with_members(set("a", 3, 1, &json!({})), 3, 0)];
    let created = plan(&deployment(), sets);
    assert!(created.starts_with("create MachineSet web-") && created.ends_with("of revision 2"));
    let plan = |old, new| plan(&deployment(), rolling(old, new));
    assert_eq!(plan([3, 3, 0], [0, 0, 0]), "scale b from 0 to 1");
    let waits = "no-op: waiting for 1 new Machine to become available";
    assert_eq!(plan([3, 3, 0], [1, 0, 0]), waits);
    assert_eq!(plan([3, 3, 0], [1, 0, 1]), waits);
    assert_eq!(plan([3, 3, 0], [1, 1, 0]), "scale a from 3 to 2");
    assert_eq!(plan([2, 3, 0], [1, 1, 0]), "no-op: waiting for Machines to be gone");
    assert_eq!(plan([2, 2, 0], [1, 1, 0]), "scale b from 1 to 2");
    assert_eq!(plan([0, 0, 0], [3, 3, 0]), "no-op: the rollout is complete");
}

#[test]
fn a_rollback_reuses_the_set_of_the_template_and_numbers_it() {
    let mut back = deployment();
    back["spec"]["template"]["spec"]["providerSpec"]["value"]["instanceType"] = json!("a");
    assert_eq!(plan(&back, rolling([2, 2, 0], [1, 1, 0])), "set revision 3 on MachineSet a");
    let mut sets = rolling([2, 2, 0], [1, 1, 0]);
    sets[0] = with_members(set("a", 2, 3, &json!({})), 2, 0);
    assert_eq!(plan(&back, sets.clone()), "set revision 3");
    back["metadata"]["annotations"]["machinedeployment.clusters.x-k8s.io/revision"] = json!("3");
    assert_eq!(plan(&back, sets), "scale a from 2 to 3");
}

#[test]
fn a_revision_that_cannot_be_incremented_is_ignored() {
    let mut sets = rolling([3, 3, 0], [0, 0, 0]);
    let revision = "machinedeployment.clusters.x-k8s.io/revision";
    let extreme = json!({"metadata": {"annotations": {revision: i64::MAX.to_string()}}});
    sets[0].set = set("a", 3, 1, &extreme);
    assert_eq!(plan(&deployment(), sets.clone()), "scale b from 0 to 1");
    sets.truncate(1);
    assert!(plan(&deployment(), sets).ends_with("of revision 1"));
}

#[test]
fn the_change_cause_is_copied_to_the_set_of_the_template() {
    let mut caused = deployment();
    caused["metadata"]["annotations"]["kubernetes.io/change-cause"] = json!("faster disks");
    let mut sets = rolling([0, 0, 0], [3, 3, 0]);
    assert_eq!(plan(&caused, sets.clone()), "set revision 2 on MachineSet b");
    let cause =
        json!({"metadata": {"annotations": {"kubernetes.io/change-cause": "faster disks"}}});
    sets[1] = with_members(set("b", 3, 2, &cause), 3, 0);
    assert_eq!(plan(&caused, sets.clone()), "no-op: the rollout is complete");
    // One that was set by hand stays.
    assert_eq!(plan(&deployment(), sets), "no-op: the rollout is complete");
}

#[test]
fn unhealthy_machines_are_marked_before_their_set_is_scaled_down() {
    let mut sets = rolling([3, 2, 0], [1, 1, 0]);
    let node = json!({"status": {"nodeRef": {"name": "n"}}});
    sets[0].members.push(member("a-9", None, &node));
    assert_eq!(plan(&deployment(), sets.clone()), "mark a-9 for deletion");
    let mark = json!({"metadata": {"annotations": {"machine.openshift.io/delete-machine": "x"}}});
    sets[0].members[2] = member("a-9", None, &mark);
    assert_eq!(plan(&deployment(), sets.clone()), "scale a from 3 to 2");
    sets[0].members[2] = member("a-9", Some(9), &json!({"status": {"phase": "Failed"}}));
    assert_eq!(plan(&deployment(), sets), "scale a from 3 to 2");
}

#[test]
fn a_mark_of_ours_is_removed_from_a_machine_that_recovered_and_stays() {
    let marked = |by: &str, ready| {
        let mark =
            json!({"metadata": {"annotations": {"machine.openshift.io/delete-machine": by}}});
        member("b-9", ready, &mark)
    };
    let with = |member, wanted| {
        let mut sets = rolling([0, 0, 0], [wanted, 2, 0]);
        sets[1].members.push(member);
        plan(&deployment(), sets)
    };
    let ours = super::super::snapshot::MARK;
    assert_eq!(with(marked(ours, Some(60)), 3), "remove the mark for deletion from b-9");
    let waits = "no-op: waiting for 1 new Machine to become available";
    assert_eq!(with(marked(ours, None), 3), waits, "it is not available");
    let complete = "no-op: the rollout is complete";
    assert_eq!(with(marked("2026-06-01", Some(60)), 3), complete, "cluster-autoscaler's");
    let gone = "no-op: waiting for Machines to be gone";
    assert_eq!(with(marked(ours, Some(60)), 2), gone, "the set has one to delete");
}

#[test]
fn machines_are_available_after_min_ready_seconds() {
    let mut patient = deployment();
    patient["spec"]["minReadySeconds"] = json!(61);
    let push = json!({"spec": {"minReadySeconds": 61}});
    let mut sets = rolling([3, 3, 0], [1, 1, 0]);
    sets[1].set = set("b", 1, 2, &push);
    assert_eq!(
        plan(&patient, sets.clone()),
        "no-op: waiting for 1 new Machine to become available"
    );
    patient["spec"]["minReadySeconds"] = json!(59);
    assert_eq!(plan(&patient, sets), "update MachineSet b");
}

#[test]
fn what_needs_no_new_machine_is_copied_to_those_that_live() {
    let mut edited = deployment();
    let spec = &mut edited["spec"]["template"];
    spec["spec"]["metadata"] = json!({"labels": {"tier": "gold"}});
    spec["spec"]["taints"] = json!([{"key": "x", "effect": "NoSchedule"}]);
    let timeouts =
        json!({"machinist.dev/drain-timeout": "1m", "machinist.dev/health-timeout": "9m"});
    spec["metadata"]["annotations"] = timeouts.clone();
    let mut sets = rolling([0, 0, 0], [3, 1, 0]);
    let own = json!({"spec": {"metadata": {"labels": {"tier": "lead", "mine": "1"}}}});
    sets[1].members.push(member("b-7", Some(60), &own));
    let done = json!({
        "metadata": {"annotations": timeouts},
        "spec": {
            "metadata": {"labels": {"tier": "gold"}},
            "taints": [{"key": "x", "effect": "NoSchedule"}],
        },
    });
    sets[1].members.push(member("b-8", Some(60), &done));
    let Plan::PushDown { set, patch, machines, changes, .. } =
        decide(&snapshot(&edited, sets.clone()), now())
    else {
        panic!("copies it")
    };
    let taints = json!([{"key": "x", "effect": "NoSchedule"}]);
    let names = ["machinist.dev/drain-timeout", "machinist.dev/health-timeout"];
    let fields = json!({
        "metadata": {"annotations": {names[0]: null, names[1]: null}},
        "spec": {"metadata": {"labels": {"tier": null}}, "taints": null},
    });
    let pending = json!({"annotations": {"machinist.dev/pending-changes": fields.to_string()}});
    let soft = json!({
        "metadata": {"annotations": timeouts},
        "spec": {"metadata": {"labels": {"tier": "gold"}}, "taints": taints},
    });
    assert_eq!(&*set.meta.key.name, "b");
    let expected = json!({"metadata": pending, "spec": {"minReadySeconds": 0, "template": soft}});
    assert_eq!((&patch, machines), (&expected, 2));
    let paths: Vec<_> = changes.iter().map(|one| one.path.as_str()).collect();
    let expected = [
        "spec.template.metadata.annotations[machinist.dev/drain-timeout]",
        "spec.template.metadata.annotations[machinist.dev/health-timeout]",
        "spec.template.spec.metadata.labels.tier",
        "spec.template.spec.taints",
    ];
    assert_eq!(paths, expected);
    sets[1].set = super::super::samples::set("b", 3, 2, &patch);
    let Plan::PushMachines { machines, .. } = decide(&snapshot(&edited, sets), now()) else {
        panic!("copies it to Machines")
    };
    let names: Vec<_> = machines.iter().map(|(machine, _)| &*machine.meta.key.name).collect();
    assert_eq!(names, ["b-0", "b-7"], "b-8 has it");
    assert!(machines.iter().all(|(_, patch)| *patch == soft), "{machines:?}");
}

#[test]
fn sets_are_adopted_and_released_by_the_selector() {
    let plan = changed(|snapshot| {
        let view = snapshot.content.as_mut().unwrap();
        view.orphans.push(set("c", 1, 1, &json!({})));
        view.unselected.push(set("d", 1, 1, &json!({})));
    });
    assert_eq!(plan, "adopt c, release d");
}

/// What was refused is left out until it is tried again; everything else goes on.
#[test]
fn a_write_that_is_refused_does_not_hold_up_scaling() {
    let refuse = |snapshot: &mut Snapshot, uid: &str| {
        snapshot.content.as_mut().unwrap().refused.objects.insert(Uid(uid.into()));
    };
    let claim = changed(|snapshot| {
        let view = snapshot.content.as_mut().unwrap();
        view.orphans.push(set("c", 1, 1, &json!({})));
        view.unselected.push(set("d", 1, 1, &json!({})));
        refuse(snapshot, "c-uid");
    });
    assert_eq!(claim, "release d");
    let refused = |deployment: &Value, sets: Vec<SetView>, uid: &str| {
        let mut snapshot = snapshot(deployment, sets);
        refuse(&mut snapshot, uid);
        decide(&snapshot, now()).to_string()
    };
    let mut caused = deployment();
    caused["spec"]["replicas"] = json!(4);
    caused["metadata"]["annotations"]["kubernetes.io/change-cause"] = json!("more");
    let sets = rolling([0, 0, 0], [3, 3, 0]);
    assert_eq!(plan(&caused, sets.clone()), "set revision 2 on MachineSet b");
    assert_eq!(refused(&caused, sets.clone(), "b-uid"), "scale b from 3 to 4");
    let mut patient = deployment();
    patient["spec"]["minReadySeconds"] = json!(5);
    assert_eq!(plan(&patient, sets.clone()), "update MachineSet b");
    assert_eq!(refused(&patient, sets.clone(), "b-uid"), "no-op: the rollout is complete");
    let mut numbered = deployment();
    numbered["metadata"]["annotations"] = json!({});
    assert_eq!(plan(&numbered, sets.clone()), "set revision 2");
    assert_eq!(refused(&numbered, sets, "web-uid"), "no-op: the rollout is complete");
    let mut sets = rolling([3, 2, 0], [1, 1, 0]);
    sets[0].members.push(member("a-9", None, &json!({})));
    assert_eq!(plan(&deployment(), sets.clone()), "mark a-9 for deletion");
    assert_ne!(refused(&deployment(), sets, "a-9"), "mark a-9 for deletion");
}

#[test]
fn machines_that_cannot_be_adopted_count() {
    let mut snapshot =
        snapshot(&deployment(), vec![with_members(set("b", 0, 2, &json!({})), 0, 0)]);
    assert_eq!(decide(&snapshot, now()).to_string(), "scale b from 0 to 3");
    let orphan = with_members(set("c", 3, 1, &json!({})), 2, 0);
    let view = snapshot.content.as_mut().unwrap();
    view.refused.objects.insert(Uid("c-uid".into()));
    view.orphans.push(Arc::clone(&orphan.set));
    view.refused.orphans.push(orphan);
    assert_eq!(decide(&snapshot, now()).to_string(), "scale b from 0 to 1");
}

/// One that was made before its provider had hot fields, and one that leaves them out.
#[test]
fn of_several_sets_of_the_template_the_latest_revision_is_current() {
    let sets = || {
        let fields = json!({"machinist.dev/hot-fields": "tags"});
        let metadata = json!({"name": "b2", "uid": "b2-uid", "annotations": fields});
        let latest = json!({"metadata": metadata});
        vec![
            with_members(set("b", 0, 1, &json!({})), 0, 0),
            with_members(set("b", 3, 2, &latest), 3, 0),
        ]
    };
    assert_eq!(plan(&deployment(), sets()), "no-op: the rollout is complete");
    let mut unnumbered = sets();
    unnumbered[1].set = set("b", 3, 2, &json!({"metadata": {"name": "b2", "uid": "b2-uid"}}));
    assert_eq!(plan(&deployment(), unnumbered), "no-op: the rollout is complete");
}

#[test]
fn the_oldest_empty_sets_beyond_the_history_are_deleted() {
    let mut limited = deployment();
    limited["spec"]["revisionHistoryLimit"] = json!(1);
    limited["metadata"]["annotations"]["machinedeployment.clusters.x-k8s.io/revision"] = json!("4");
    let sets = |c: usize| {
        ["c", "d", "a", "b"]
            .iter()
            .zip(1..)
            .map(|(name, revision)| {
                let machines = match *name {
                    "b" => 3,
                    "c" => c,
                    _ => 0,
                };
                let wanted = if *name == "b" { 3 } else { 0 };
                with_members(set(name, wanted, revision, &json!({})), machines, 0)
            })
            .collect()
    };
    assert_eq!(plan(&limited, sets(0)), "delete old MachineSet c");
    assert_eq!(plan(&limited, sets(1)), "delete old MachineSet d", "c has a Machine");
    limited["spec"]["revisionHistoryLimit"] = json!(3);
    assert_eq!(plan(&limited, sets(0)), "no-op: the rollout is complete");
}

#[test]
fn waits_for_the_name_of_a_set_that_is_being_deleted() {
    let mut sets = rolling([3, 3, 0], [0, 0, 0]);
    let hash =
        "web-".to_owned() + sets[1].set.state.labels.get("machinist.dev/template-hash").unwrap();
    let deleting = json!({
        "metadata": {"name": hash, "deletionTimestamp": "2026-06-01T11:00:00Z"},
    });
    sets[1].set = set("b", 0, 2, &deleting);
    assert!(plan(&deployment(), sets).contains("MachineSet of the same name"));
}

#[test]
fn paused_deployments_create_no_sets() {
    let mut paused = deployment();
    paused["spec"]["paused"] = json!(true);
    let old = |replicas| vec![with_members(set("a", replicas, 1, &json!({})), replicas, 0)];
    assert_eq!(plan(&paused, old(3)), "no-op: paused");
    assert_eq!(plan(&paused, old(2)), "scale a from 2 to 3");
}

#[test]
fn invalid_deployments_change_nothing() {
    let refused = |patch: &dyn Fn(&mut Value)| {
        let mut invalid = deployment();
        patch(&mut invalid["spec"]);
        plan(&invalid, Vec::new())
    };
    let rolling = |surge: Value, unavailable: Value| {
        refused(&|spec| {
            spec["strategy"] =
                json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
        })
    };
    for (plan, text) in [
        (refused(&|spec| spec["selector"] = json!({})), "must not be empty"),
        (refused(&|spec| spec["selector"]["matchLabels"]["app"] = json!("x")), "does not match"),
        (
            refused(&|spec| {
                let mark = json!({"machine.openshift.io/delete-machine": "true"});
                spec["template"]["metadata"]["annotations"] = mark;
            }),
            "marks every new Machine for deletion",
        ),
        (refused(&|spec| spec["replicas"] = json!(-1)), "must not be negative"),
        (
            refused(&|spec| spec["strategy"] = json!({"type": "Odd"})),
            "must be RollingUpdate, Recreate or",
        ),
        (
            refused(&|spec| spec["remediation"] = json!({"maxInFlight": "some"})),
            "maxInFlight must be a number from 0 or a percentage such as 25% (got \"some\")",
        ),
        (rolling(json!(0), json!(0)), "must not both be 0"),
        (rolling(json!("0%"), json!("0%")), "must not both be 0"),
        (rolling(json!("1"), json!(0)), "rollingUpdate.maxSurge must be"),
        (rolling(json!(-1), json!(1)), "rollingUpdate.maxSurge must be"),
        (rolling(json!(1), json!("101%")), "rollingUpdate.maxUnavailable must be"),
    ] {
        assert!(plan.starts_with("no-op: spec.") && plan.contains(text), "{plan}");
    }
    let overlaps = changed(|snapshot| {
        snapshot.content.as_mut().unwrap().overlaps = Some(ObjectKey::new("ns", "other"));
    });
    assert!(overlaps.contains("older MachineDeployment other"), "{overlaps}");
    let undecodable = changed(|snapshot| {
        snapshot.content.as_mut().unwrap().undecodable = Some(ObjectKey::new("ns", "odd"));
    });
    assert!(undecodable.contains("MachineSet odd cannot be decoded"), "{undecodable}");
    let deleting = changed(|snapshot| snapshot.meta.deleting = true);
    assert_eq!(deleting, "no-op: being deleted");
}

#[test]
fn percentages_are_rounded_as_in_kubernetes() {
    let limits_of = |surge: Value, unavailable: Value, replicas| {
        let mut spec = deployment();
        spec["spec"]["strategy"] =
            json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
        limits(&super::super::samples::read(&spec).spec, replicas).unwrap()
    };
    assert_eq!(limits_of(json!("25%"), json!("25%"), 10), (false, 3, 2));
    assert_eq!(limits_of(json!("100%"), json!(0), 3), (false, 3, 0));
    assert_eq!(limits_of(json!(2), json!("50%"), 3), (false, 2, 1));
    assert_eq!(limits_of(json!("0%"), json!("10%"), 3), (false, 0, 1), "rounded to nothing");
    assert_eq!(limits_of(Value::Null, Value::Null, 3), (false, 1, 0));
}

#[test]
fn a_set_that_cannot_be_adopted_and_has_the_name_is_waited_for() {
    let template = &read(&deployment()).spec.template;
    let hash = super::super::template::hash_on(template, None).unwrap();
    let named = json!({"metadata": {"name": format!("web-{hash}"), "uid": "b-uid"}});
    let orphan = with_members(set("b", 3, 1, &named), 3, 0);
    let mut snapshot = snapshot(&deployment(), Vec::new());
    let view = snapshot.content.as_mut().unwrap();
    view.orphans.push(Arc::clone(&orphan.set));
    assert_eq!(decide(&snapshot, now()).to_string(), format!("adopt web-{hash}"));
    let view = snapshot.content.as_mut().unwrap();
    view.refused.objects.insert(Uid("b-uid".into()));
    view.refused.orphans.push(orphan);
    assert!(decide(&snapshot, now()).to_string().contains("adopted or released first"));
    snapshot.content.as_mut().unwrap().orphans.clear();
    assert!(decide(&snapshot, now()).to_string().starts_with("create MachineSet"));
}
