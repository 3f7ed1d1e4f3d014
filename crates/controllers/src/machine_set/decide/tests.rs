use serde_json::{Value, json};

use super::super::samples::{machine, member, members, now, set, snapshot, view};
use super::super::snapshot::Member;
use super::*;

/// Of the set `existing` Machines exist, and these ordinals are open.
fn plan(replicas: i32, window: &str, existing: usize, open: &[u64]) -> String {
    let mut set = set();
    set["spec"]["replicas"] = json!(replicas);
    set["metadata"]["annotations"] = json!({"machinist.dev/ordinals": window});
    let mut view = view(&set, members(existing));
    view.open_ordinals = open.to_vec();
    decide(&snapshot(view), now()).to_string()
}

#[test]
fn reserves_ordinals_before_creating_and_closes_the_window_before_deleting() {
    for (replicas, window, existing, open, expected) in [
        (3, "0..0", 0, &[][..], "reserve ordinals 0..3"),
        (3, "0..3", 0, &[0, 1, 2], "create 3 Machines from ordinal 0"),
        (3, "0..3", 2, &[1], "create 1 Machine from ordinal 1"),
        (3, "0..3", 3, &[], "close the window (3..3)"),
        (3, "3..3", 3, &[], "no-op: all Machines exist"),
        // Scale up: ordinals of existing Machines leave the window, open ones stay in it.
        (5, "3..3", 3, &[], "reserve ordinals 3..5"),
        (5, "0..3", 3, &[], "reserve ordinals 3..5"),
        (5, "0..3", 2, &[1], "reserve ordinals 1..5"),
        // Scale down: the window is closed before anything is deleted.
        (1, "0..3", 0, &[0, 1, 2], "close the window (3..3)"),
        (2, "0..3", 2, &[1], "close the window (3..3)"),
        (1, "0..3", 3, &[], "close the window (3..3)"),
        (2, "3..3", 3, &[], "delete m2"),
        (0, "3..3", 0, &[], "no-op: all Machines exist"),
        // Another user has the name of one ordinal: it is neither a member nor open.
        (3, "0..3", 2, &[], "reserve ordinals 3..4"),
        // The window has its maximum width: its Machines are created first.
        (9999, "0..0", 0, &[], "reserve ordinals 0..4096"),
        (9999, "0..4096", 4095, &[0], "create 1 Machine from ordinal 0"),
    ] {
        assert_eq!(
            plan(replicas, window, existing, open),
            expected,
            "{replicas} {window} {existing} {open:?}"
        );
    }
}

#[test]
fn keeps_ordinals_whose_create_may_still_be_executed() {
    for (replicas, existing, open, leaving, expected) in [
        (3, 3, &[][..], 0, "no-op: a create without an answer may still be executed"),
        (1, 3, &[], 0, "no-op: a create without an answer may still be executed"),
        (2, 2, &[1], 0, "no-op: a create without an answer may still be executed"),
        (3, 2, &[1], 0, "create 1 Machine from ordinal 1"),
        (5, 3, &[], 0, "reserve ordinals 0..5"),
        (5, 2, &[1], 0, "reserve ordinals 0..5"),
        // A Machine that is being deleted is replaced when its name cannot come back.
        (3, 2, &[], 1, "no-op: a create without an answer may still be executed"),
        (3, 1, &[1], 1, "create 1 Machine from ordinal 1"),
        (2, 1, &[1], 1, "no-op: a create without an answer may still be executed"),
        (4, 2, &[], 1, "reserve ordinals 0..4"),
    ] {
        let mut set = set();
        set["spec"]["replicas"] = json!(replicas);
        set["metadata"]["annotations"] = json!({"machinist.dev/ordinals": "0..3"});
        let mut view = view(&set, members(existing));
        view.open_ordinals = open.to_vec();
        view.leaving_ordinals = leaving;
        view.in_flight = InFlight::Maybe(std::time::Duration::from_secs(1));
        let waits = expected.starts_with("no-op");
        let mut later = view.clone();
        later.in_flight = InFlight::Unlisted;
        let plan = decide(&snapshot(view), now());
        assert_eq!(plan.to_string(), expected, "{replicas} {existing} {open:?} {leaving}");
        let later = decide(&snapshot(later), now());
        assert_eq!(matches!(later, Plan::List), waits, "{replicas} {existing} {open:?} {leaving}");
    }
}

#[test]
fn one_reconcile_creates_or_deletes_a_limited_number() {
    let open: Vec<u64> = (0..1000).collect();
    assert_eq!(plan(1000, "0..1000", 0, &open), "create 512 Machines from ordinal 0");
    assert!(plan(0, "5..5", 1000, &[]).starts_with("delete 512 "));
}

#[test]
fn lists_machines_before_deleting_any() {
    for replicas in [2, 0] {
        let mut set = set();
        set["spec"]["replicas"] = json!(replicas);
        let mut view = view(&set, members(3));
        view.listed = false;
        let plan = decide(&snapshot(view), now()).to_string();
        assert_eq!(plan, "list Machines before ordinals are given up or Machines deleted");
    }
}

#[test]
fn replicas_defaults_to_one() {
    let mut set = set();
    set["spec"]["replicas"] = Value::Null;
    let plan = decide(&snapshot(view(&set, Vec::new())), now());
    assert_eq!(plan.to_string(), "reserve ordinals 0..1");
}

#[test]
fn a_lost_window_starts_above_the_existing_machines() {
    let mut view = view(&set(), members(2));
    view.highest_ordinal = Some(41);
    assert_eq!(decide(&snapshot(view), now()).to_string(), "reserve ordinals 42..43");
}

#[test]
fn refuses_invalid_sets_with_the_field() {
    for (pointer, value, text) in [
        ("/spec/selector", json!({}), "spec.selector must not be empty"),
        (
            "/spec/selector/matchLabels/a",
            json!("x"),
            "spec.selector a=x does not match the labels in spec.template",
        ),
        ("/spec/replicas", json!(-1), "spec.replicas must not be negative (got -1)"),
        ("/spec/deletePolicy", json!("Prettiest"), "(got \"Prettiest\")"),
        (
            "/metadata/annotations",
            json!({"machinist.dev/ordinals": "v2"}),
            "machinist.dev/ordinals is invalid: \"v2\"",
        ),
    ] {
        let mut set = set();
        set["metadata"]["annotations"] = json!({});
        set["spec"]["deletePolicy"] = json!("");
        *set.pointer_mut(pointer).unwrap() = value;
        match decide(&snapshot(view(&set, members(9))), now()) {
            Plan::Refuse(refusal) => assert!(refusal.to_string().contains(text), "{refusal}"),
            plan => panic!("{pointer}: {plan}"),
        }
    }
}

#[test]
fn ignores_a_set_that_is_being_deleted_or_cannot_be_decoded() {
    let mut deleting = snapshot(view(&set(), Vec::new()));
    deleting.meta.deleting = true;
    assert!(matches!(decide(&deleting, now()), Plan::NoOp(Reason::Deleting)));
    let mut broken = snapshot(view(&set(), Vec::new()));
    broken.content = Err("no".to_owned());
    assert!(matches!(decide(&broken, now()), Plan::Refuse(Refusal::Undecodable(_))));
}

#[test]
fn claims_machines_before_scaling() {
    let mut view = view(&set(), members(1));
    view.orphans = vec![machine("o", &json!({}))];
    view.unselected = vec![machine("s", &json!({}))];
    assert_eq!(decide(&snapshot(view), now()).to_string(), "adopt o, release s");
}

#[test]
fn creates_no_machines_in_place_of_orphans_that_could_not_be_adopted() {
    for (replicas, existing, refused, open, expected) in [
        (3, 0, 3, 0, "no-op: all Machines exist"),
        (3, 1, 1, 0, "reserve ordinals 0..1"),
        (3, 1, 1, 1, "create 1 Machine from ordinal 0"),
        // The adoption of the others is retried, and only then there are too many.
        (1, 1, 2, 0, "no-op: all Machines exist"),
        (1, 0, 1, 1, "close the window (1..1)"),
        (1, 2, 1, 0, "delete m1"),
    ] {
        let mut set = set();
        set["spec"]["replicas"] = json!(replicas);
        set["metadata"]["annotations"] = json!({"machinist.dev/ordinals": format!("0..{open}")});
        let mut view = view(&set, members(existing));
        view.unadopted_orphans = refused;
        view.open_ordinals = (0..open).collect();
        let case = format!("{replicas} {existing} {refused} {open}");
        assert_eq!(decide(&snapshot(view), now()).to_string(), expected, "{case}");
    }
}

#[test]
fn obeys_the_authoritative_api_only_with_the_feature_gate() {
    for (stored, expected) in [
        (json!("MachineAPI"), "reserve ordinals 0..3"),
        (json!("ClusterAPI"), "no-op: managed by another machine API"),
        (json!("Migrating"), "no-op: managed by another machine API"),
        (json!("Other"), "no-op: managed by another machine API"),
        (Value::Null, "set status.authoritativeAPI"),
    ] {
        let mut set = set();
        set["status"] = json!({"authoritativeAPI": stored});
        let mut snapshot = snapshot(view(&set, Vec::new()));
        assert_eq!(decide(&snapshot, now()).to_string(), "reserve ordinals 0..3");
        snapshot.obey_migration = true;
        assert_eq!(decide(&snapshot, now()).to_string(), expected, "{stored}");
        // A schema without the field has no other API.
        snapshot.authority_field = Field::Dropped;
        let expected = if stored.is_null() { "reserve ordinals 0..3" } else { expected };
        assert_eq!(decide(&snapshot, now()).to_string(), expected, "{stored}");
    }
}

#[test]
fn sets_an_empty_authority_to_that_of_the_spec_or_to_this_api() {
    for (spec, expected) in [
        (json!("MachineAPI"), MachineAuthority::MachineApi),
        (json!("ClusterAPI"), MachineAuthority::ClusterApi),
        (Value::Null, MachineAuthority::MachineApi),
    ] {
        let mut set = set();
        set["spec"]["authoritativeAPI"] = spec;
        let mut snapshot = snapshot(view(&set, Vec::new()));
        snapshot.obey_migration = true;
        let plan = decide(&snapshot, now());
        assert!(matches!(plan, Plan::SetAuthority(to) if to == expected), "{plan:?}");
    }
}

#[test]
fn an_undecodable_machine_counts_and_is_never_deleted() {
    let mut set = set();
    set["spec"]["replicas"] = json!(0);
    let undecodable = Member { key: machine("u", &json!({})).meta.key.clone(), seen: None };
    let mut all = members(1);
    all.push(undecodable.clone());
    assert_eq!(decide(&snapshot(view(&set, all)), now()).to_string(), "delete m0");
    let plan = decide(&snapshot(view(&set, vec![undecodable])), now());
    assert!(matches!(plan, Plan::NoOp(Reason::NoneDeletable { excess: 1 })), "{plan}");
}

/// `m0` and so on, with the request, the stored end and the phase of each.
fn preserved(all: &[(&str, Option<&str>, &str)]) -> Vec<Member> {
    let one = |(at, (preserve, until, phase)): (usize, &(&str, Option<&str>, &str))| {
        let mut annotations = json!({"machinist.dev/preserve": preserve});
        if let Some(until) = until {
            annotations["machinist.dev/preserved-until"] = json!(until);
        }
        let patch = json!({"metadata": {"annotations": annotations}, "status": {"phase": phase}});
        member(machine(&format!("m{at}"), &patch))
    };
    all.iter().enumerate().map(one).collect()
}

#[test]
fn a_scale_down_takes_other_machines_than_preserved_ones() {
    let (later, over) = (Some("2026-06-01T12:00:01Z"), Some("2026-06-01T12:00:00Z"));
    let kept = ("now", later, "Running");
    for (replicas, all, expected) in [
        (1, vec![kept, ("false", None, "Running"), kept], "delete m1"),
        // A failed Machine goes first, but for its preservation.
        (1, vec![("when-failed", later, "Failed"), ("false", None, "Running")], "delete m1"),
        // The request counts from the moment it is there.
        (1, vec![("when-failed", None, "Failed"), ("when-failed", None, "Running")], "delete m1"),
        (0, vec![kept, ("x", None, "Running")], "delete m1"),
        (0, vec![("now", over, "Running")], "delete m0"),
        (0, vec![kept, kept], "no-op: cannot scale down by 2: Machines are preserved"),
        // It counts, so nothing is created in its place.
        (2, vec![("when-failed", later, "Failed"), kept], "no-op: all Machines exist"),
        (3, vec![kept, kept], "reserve ordinals 0..1"),
    ] {
        let mut set = set();
        set["spec"]["replicas"] = json!(replicas);
        let plan = decide(&snapshot(view(&set, preserved(&all))), now());
        assert_eq!(plan.to_string(), expected, "{replicas} of {all:?}");
    }
}

#[test]
fn the_annotation_of_the_node_decides() {
    for (on_node, expected) in [("now", "no-op: cannot scale down by 1"), ("false", "delete m0")] {
        let mut set = set();
        set["spec"]["replicas"] = json!(0);
        let mut all = preserved(&[("when-failed", None, "Failed")]);
        all[0].seen.as_mut().unwrap().preserve_on_node = Some(on_node.into());
        let plan = decide(&snapshot(view(&set, all)), now()).to_string();
        assert!(plan.starts_with(expected), "{on_node}: {plan}");
    }
}

#[test]
fn a_held_set_neither_creates_nor_deletes_and_lists_before_it_does_so_again() {
    let owned_by = |kind: &str, hold: &str, replicas: i32, listed: bool| {
        let mut set = set();
        set["spec"]["replicas"] = json!(replicas);
        set["metadata"]["annotations"] = json!({"machinist.dev/hold": hold});
        let owner = json!({"kind": kind, "name": "web", "uid": "web-uid", "controller": true});
        set["metadata"]["ownerReferences"] = json!([owner]);
        let mut view = view(&set, members(2));
        view.listed = listed;
        decide(&snapshot(view), now()).to_string()
    };
    let held = "no-op: held while a Machine is moved";
    let list = "list Machines before ordinals are given up or Machines deleted";
    let (kind, moves) = ("MachineDeployment", "v1 out m0 uid-m0 web-b");
    for (owner, hold, replicas, listed, expected) in [
        (kind, moves, 3, true, held),
        (kind, moves, 1, true, held),
        // Only a MachineDeployment releases it.
        ("Other", moves, 3, true, "reserve ordinals 0..1"),
        (kind, "v1 released", 2, false, "no-op: all Machines exist"),
        (kind, "v1 released", 3, false, list),
        (kind, "v1 released", 3, true, "reserve ordinals 0..1"),
        // Also if all Machines go: one that was moved may still be in the cache as this set's.
        (kind, "v1 released", 0, false, list),
        (kind, "v1 released", 0, true, "delete 2 Machines (m1, m0)"),
    ] {
        let found = owned_by(owner, hold, replicas, listed);
        assert_eq!(found, expected, "{owner} {hold} {replicas} {listed}");
    }
}

#[test]
fn only_a_machine_deployment_aborts_the_rollout_of_a_set() {
    let owned_by = |kind: Option<&str>, existing: usize| {
        let mut set = set();
        let aborted = json!({"machinist.dev/rollout-aborted": "v1 2026-06-01T11:00:00Z"});
        set["metadata"]["annotations"] = aborted;
        if let Some(kind) = kind {
            let owner = json!({"kind": kind, "name": "web", "uid": "web-uid", "controller": true});
            set["metadata"]["ownerReferences"] = json!([owner]);
        }
        decide(&snapshot(view(&set, members(existing))), now()).to_string()
    };
    let aborted = "no-op: the rollout is aborted, so no Machines are created";
    assert_eq!(owned_by(Some("MachineDeployment"), 2), aborted);
    assert_eq!(owned_by(Some("MachineDeployment"), 3), "no-op: all Machines exist");
    // With `--cascade=orphan` the set stays without an owner.
    for kind in [None, Some("Other")] {
        assert_eq!(owned_by(kind, 2), "reserve ordinals 0..1");
    }
}
