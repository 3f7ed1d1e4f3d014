//! Machines that are kept for debugging during a rollout and beside it.

use super::*;

fn kept(name: &str, ready: Option<u64>) -> crate::machine_deployment::snapshot::Member {
    let annotations = json!({
        "machinist.dev/preserve": "now", "machinist.dev/preserved-until": "2026-06-05T12:00:00Z",
    });
    member(name, ready, &json!({"metadata": {"annotations": annotations}}))
}

/// As `rolling`, with so many that are kept in each: available ones, and others.
fn with_kept(mut sets: Vec<SetView>, old: [usize; 2], new: [usize; 2]) -> Vec<SetView> {
    for (one, [available, others]) in sets.iter_mut().zip([old, new]) {
        let name = |at: usize| format!("{}-{at}", one.set.meta.key.name);
        let ready = (0..available).map(|at| kept(&name(50 + at), Some(60)));
        let others = (0..others).map(|at| kept(&name(70 + at), None));
        let members: Vec<_> = ready.chain(others).collect();
        one.members.extend(members);
    }
    sets
}

#[test]
fn a_rollout_leaves_them_out_and_completes() {
    let plan = |old, kept, new| plan(&deployment(), with_kept(rolling(old, new), kept, [0, 0]));
    let waits = |count: &str| format!("no-op: waiting for {count} to become available");
    // Of three old Machines one is kept, so two are replaced, and three are created beside it.
    assert_eq!(plan([3, 2, 0], [1, 0], [0, 0, 0]), "scale b from 0 to 2");
    assert_eq!(plan([3, 2, 0], [1, 0], [2, 0, 2]), waits("2 new Machines"));
    assert_eq!(plan([3, 2, 0], [1, 0], [2, 2, 0]), "scale a from 3 to 2");
    assert_eq!(plan([2, 1, 0], [0, 1], [2, 2, 0]), "scale b from 2 to 3");
    // Nothing but the kept one is left, and its MachineSet is to delete it when that ends.
    assert_eq!(plan([2, 1, 0], [0, 1], [3, 3, 0]), "scale a from 2 to 0");
    // It was kept after the scale-down. A user who deletes it must not get another one of the old template.
    assert_eq!(plan([1, 0, 0], [1, 0], [3, 3, 0]), "scale a from 1 to 0");
    // Not before the end of the rollout: until then it may be kept no longer, and be needed.
    assert_eq!(plan([1, 0, 0], [1, 0], [3, 2, 1]), waits("1 new Machine"));
    assert_eq!(plan([3, 0, 0], [3, 0], [0, 0, 0]), "scale b from 0 to 3");
    assert_eq!(plan([0, 0, 0], [1, 1], [3, 3, 0]), "no-op: the rollout is complete");
    // As soon as it ends, it is one of too many.
    assert_eq!(plan([0, 1, 0], [0, 0], [3, 3, 0]), "no-op: waiting for Machines to be gone");
}

#[test]
fn recreate_does_not_wait_for_them() {
    let mut recreate = deployment();
    recreate["spec"]["strategy"] = json!({"type": "Recreate"});
    let sets = with_kept(rolling([0, 0, 0], [0, 0, 0]), [1, 1], [0, 0]);
    assert_eq!(plan(&recreate, sets), "scale b from 0 to 3");
}

#[test]
fn of_the_current_template_they_are_replicas_of_which_nothing_is_expected() {
    let plan_of = |replicas: usize, new, kept| {
        let mut deployment = deployment();
        deployment["spec"]["replicas"] = json!(replicas);
        plan(&deployment, with_kept(rolling([0, 0, 0], new), [0, 0], kept))
    };
    let complete = "no-op: the rollout is complete";
    assert_eq!(plan_of(3, [3, 2, 0], [1, 0]), complete);
    assert_eq!(plan_of(3, [3, 2, 0], [0, 1]), complete, "it is not waited for");
    assert_eq!(
        plan_of(3, [3, 1, 1], [0, 1]),
        "no-op: waiting for 1 new Machine to become available"
    );
    // Others are created and deleted beside them.
    assert_eq!(plan_of(4, [3, 2, 0], [0, 1]), "scale b from 3 to 4");
    assert_eq!(plan_of(2, [3, 2, 0], [0, 1]), "scale b from 3 to 2");
    assert_eq!(plan_of(0, [3, 2, 0], [0, 1]), "scale b from 3 to 0");
    assert_eq!(plan_of(0, [0, 0, 0], [1, 1]), complete);
    let waits = "no-op: waiting for Machines to be gone";
    assert_eq!(plan_of(2, [2, 2, 0], [1, 0]), waits, "one of the three will be deleted");
    // A set that has more than its size because of them is not blocked.
    assert_eq!(plan_of(3, [1, 0, 0], [2, 0]), "scale b from 1 to 3");
}

#[test]
fn a_new_template_whose_machines_fail_and_are_kept_replaces_nothing() {
    let plan = |old, new, kept| plan(&deployment(), with_kept(rolling(old, new), [0, 0], kept));
    let all = [3, 3, 0];
    assert_eq!(plan(all, [1, 0, 0], [0, 1]), "scale b from 1 to 2");
    assert_eq!(plan(all, [3, 0, 0], [0, 3]), "scale b from 3 to 4");
    let waits = "no-op: waiting for 1 new Machine to become available";
    assert_eq!(plan(all, [4, 0, 1], [0, 3]), waits, "no more are kept");
    assert_eq!(plan(all, [2, 1, 0], [0, 1]), "scale a from 3 to 2");
    // When no old Machine is left, they are replicas.
    assert_eq!(plan([0, 0, 0], [4, 3, 0], [0, 1]), "scale b from 4 to 3");
}

#[test]
fn an_old_set_that_has_one_is_not_deleted() {
    let mut short = deployment();
    short["spec"]["revisionHistoryLimit"] = json!(0);
    let sets = |kept| with_kept(rolling([0, 0, 0], [3, 3, 0]), kept, [0, 0]);
    assert_eq!(plan(&short, sets([0, 1])), "no-op: the rollout is complete");
    assert!(plan(&short, sets([0, 0])).starts_with("delete"), "{}", plan(&short, sets([0, 0])));
}

#[test]
fn a_request_for_one_machine_is_not_replaced_by_that_of_the_template() {
    let mut wanted = deployment();
    let request = json!({"machinist.dev/preserve": "when-failed"});
    wanted["spec"]["template"]["metadata"]["annotations"] = request;
    let mut sets = rolling([0, 0, 0], [3, 2, 0]);
    sets[1].members.push(kept("b-9", Some(60)));
    let Plan::PushDown { machines, patch, .. } = decide(&snapshot(&wanted, sets), now()) else {
        panic!("it is copied")
    };
    let annotations = "/spec/template/metadata/annotations/machinist.dev~1preserve";
    assert_eq!(patch.pointer(annotations), Some(&json!("when-failed")));
    assert_eq!(machines, 2, "of three");
}
