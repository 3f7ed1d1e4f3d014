//! Every situation that a set can be in, and what is done about it.

use serde_json::{Value, json};

use super::super::samples::{family, machine, members, now, set, snapshot};
use super::super::snapshot::Member;
use super::*;

/// A set that wants `replicas` and stores `window`, of whose machines `there` exist and of whose ordinals `open` are open.
fn plan(replicas: i32, window: &str, there: usize, open: &[u64]) -> String {
    let mut set = set();
    set["spec"]["replicas"] = json!(replicas);
    set["metadata"]["annotations"] = json!({"machinist.dev/ordinals": window});
    let mut family = family(&set, members(there));
    family.open = open.to_vec();
    decide(&snapshot(family), now()).to_string()
}

#[test]
fn ordinals_are_reserved_before_machines_are_made_and_given_up_before_machines_go() {
    for (replicas, window, there, open, expected) in [
        // Nothing there: reserve, make, close, done.
        (3, "0..0", 0, &[][..], "reserve ordinals 0..3"),
        (3, "0..3", 0, &[0, 1, 2], "create 3 machines from ordinal 0"),
        (3, "0..3", 2, &[1], "create 1 machines from ordinal 1"),
        (3, "0..3", 3, &[], "reserve ordinals 3..3"),
        (3, "3..3", 3, &[], "leave it: all machines are there"),
        // More are wanted: what is done leaves the window, what is open stays in it.
        (5, "3..3", 3, &[], "reserve ordinals 3..5"),
        (5, "0..3", 3, &[], "reserve ordinals 3..5"),
        (5, "0..3", 2, &[1], "reserve ordinals 1..5"),
        // Fewer are wanted: nothing may be in the making before anything goes.
        (1, "0..3", 0, &[0, 1, 2], "reserve ordinals 3..3"),
        (2, "0..3", 2, &[1], "reserve ordinals 3..3"),
        (1, "0..3", 3, &[], "reserve ordinals 3..3"),
        (2, "3..3", 3, &[], "delete 1 (m2)"),
        (0, "3..3", 0, &[], "leave it: all machines are there"),
        // One was burned: somebody else has the name. It is neither there nor open.
        (3, "0..3", 2, &[], "reserve ordinals 3..4"),
        // As wide as a window gets: what is in it comes first.
        (9999, "0..0", 0, &[], "reserve ordinals 0..4096"),
        (9999, "0..4096", 4095, &[0], "create 1 machines from ordinal 0"),
    ] {
        assert_eq!(
            plan(replicas, window, there, open),
            expected,
            "{replicas} {window} {there} {open:?}"
        );
    }
}

#[test]
fn one_pass_does_not_make_or_delete_everything() {
    let open: Vec<u64> = (0..1000).collect();
    assert_eq!(plan(1000, "0..1000", 0, &open), "create 512 machines from ordinal 0");
    assert!(plan(0, "5..5", 1000, &[]).starts_with("delete 512 "));
}

#[test]
fn machines_are_listed_before_it_is_chosen_who_goes_and_not_where_all_do() {
    for (replicas, expected) in
        [(2, "list the machines before some are deleted"), (0, "delete 3 (m")]
    {
        let mut set = set();
        set["spec"]["replicas"] = json!(replicas);
        let mut family = family(&set, members(3));
        family.looked = false;
        let plan = decide(&snapshot(family), now()).to_string();
        assert!(plan.starts_with(expected), "{plan}");
    }
}

#[test]
fn a_set_that_does_not_say_how_many_wants_one() {
    let mut set = set();
    set["spec"]["replicas"] = Value::Null;
    let plan = decide(&snapshot(family(&set, Vec::new())), now());
    assert_eq!(plan.to_string(), "reserve ordinals 0..1");
}

#[test]
fn a_lost_window_begins_above_the_machines_that_are_there() {
    let mut family = family(&set(), members(2));
    family.highest = Some(41);
    assert_eq!(decide(&snapshot(family), now()).to_string(), "reserve ordinals 42..43");
}

#[test]
fn what_is_not_valid_is_refused_with_the_place_of_the_mistake() {
    for (pointer, value, text) in [
        ("/spec/selector", json!({}), "spec.selector is empty"),
        (
            "/spec/selector/matchLabels/a",
            json!("x"),
            "spec.selector a=x does not match the labels in spec.template",
        ),
        ("/spec/replicas", json!(-1), "spec.replicas is -1"),
        ("/spec/deletePolicy", json!("Prettiest"), "spec.deletePolicy \"Prettiest\""),
        (
            "/metadata/annotations",
            json!({"machinist.dev/ordinals": "v2"}),
            "machinist.dev/ordinals: \"v2\"",
        ),
    ] {
        let mut set = set();
        set["metadata"]["annotations"] = json!({});
        set["spec"]["deletePolicy"] = json!("");
        *set.pointer_mut(pointer).unwrap() = value;
        match decide(&snapshot(family(&set, members(9))), now()) {
            Plan::Refuse(refusal) => assert!(refusal.to_string().contains(text), "{refusal}"),
            plan => panic!("{pointer}: {plan}"),
        }
    }
}

#[test]
fn a_set_that_is_being_deleted_or_cannot_be_read_is_left_alone() {
    let mut deleting = snapshot(family(&set(), Vec::new()));
    deleting.meta.deleting = true;
    assert!(matches!(decide(&deleting, now()), Plan::Leave(Why::Deleting)));
    let mut broken = snapshot(family(&set(), Vec::new()));
    broken.content = Content::Undecodable("no".to_owned());
    assert!(matches!(decide(&broken, now()), Plan::Refuse(Refusal::Undecodable(_))));
}

#[test]
fn orphans_and_strays_come_before_any_scaling() {
    let mut family = family(&set(), members(1));
    family.orphans = vec![machine("o", &json!({}))];
    family.strays = vec![machine("s", &json!({}))];
    assert_eq!(decide(&snapshot(family), now()).to_string(), "adopt 1 (o), release 1 (s)");
}

#[test]
fn who_is_in_charge_matters_only_where_that_can_change() {
    for (said, expected) in [
        (json!("MachineAPI"), "reserve ordinals 0..3"),
        (json!("ClusterAPI"), "leave it: another machine API is in charge of it"),
        (json!("Migrating"), "leave it: another machine API is in charge of it"),
        (json!("Sombody"), "leave it: another machine API is in charge of it"),
        (Value::Null, "say who is in charge of it"),
    ] {
        let mut set = set();
        set["status"] = json!({"authoritativeAPI": said});
        let mut snapshot = snapshot(family(&set, Vec::new()));
        assert_eq!(decide(&snapshot, now()).to_string(), "reserve ordinals 0..3");
        snapshot.obey_migration = true;
        assert_eq!(decide(&snapshot, now()).to_string(), expected, "{said}");
        // A schema that cannot say who is in charge has no other API.
        snapshot.authority_field = Field::Dropped;
        let expected = if said.is_null() { "reserve ordinals 0..3" } else { expected };
        assert_eq!(decide(&snapshot, now()).to_string(), expected, "{said}");
    }
}

#[test]
fn a_machine_that_cannot_be_read_counts_and_does_not_go() {
    let mut set = set();
    set["spec"]["replicas"] = json!(0);
    let unread = Member { key: machine("u", &json!({})).meta.key.clone(), seen: None };
    let mut all = members(1);
    all.push(unread.clone());
    assert_eq!(decide(&snapshot(family(&set, all)), now()).to_string(), "delete 1 (m0)");
    let plan = decide(&snapshot(family(&set, vec![unread])), now());
    assert!(matches!(plan, Plan::Leave(Why::NobodyToDelete { excess: 1 })), "{plan}");
}
