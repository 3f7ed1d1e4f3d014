mod properties;

use serde_json::{Value, json};

use super::super::super::in_place::move_patch;
use super::super::super::samples::{deployment, member, merge, now, set, snapshot};
use super::super::super::snapshot::{LateSizes, SetView};
use super::super::decide;
use super::*;

fn strategy(in_place: &Value) -> Value {
    let mut deployment = deployment();
    deployment["spec"]["strategy"] = json!({"type": "InPlaceUpdate", "inPlaceUpdate": in_place});
    deployment
}

/// A ready Machine with a Node, and these marks.
fn marked(name: &str, mark: Value) -> Member {
    let mut machine = mark;
    merge(&mut machine, &json!({"status": {"nodeRef": {"name": name, "uid": name}}}));
    member(name, Some(60), &machine)
}

fn candidate() -> Value {
    json!({"metadata": {"labels": {"machinist.dev/in-place-update": "candidate"}}})
}

fn updating(target: &str, reason: &str) -> Value {
    json!({
        "metadata": {
            "labels": {"machinist.dev/in-place-update": "selected"},
            "annotations": {"machinist.dev/in-place-update-target": target},
        },
        "status": {"conditions": [{"type": "InPlaceUpdate", "status": "False", "reason": reason}]},
    })
}

fn with_result(mut machine: Value, result: &str) -> Value {
    machine["metadata"]["labels"]["machinist.dev/in-place-update-result"] = json!(result);
    machine
}

fn one(kind: &str, revision: i64, members: Vec<Member>) -> SetView {
    let set = set(kind, members.len(), revision, &json!({}));
    SetView { set, members, leaving: 0, open: 0, late: None }
}

/// The set `a` has these Machines, the set `b` of the current template these.
fn plan(deployment: &Value, a: Vec<Member>, b: Vec<Member>) -> String {
    let snapshot = snapshot(deployment, vec![one("a", 1, a), one("b", 2, b)]);
    decide(&snapshot, now()).to_string()
}

fn three(marks: [Value; 3]) -> Vec<Member> {
    let names = ["m0", "m1", "m2"];
    names.into_iter().zip(marks).map(|(name, mark)| marked(name, mark)).collect()
}

#[test]
fn machines_of_another_template_are_candidates_and_then_selected_within_the_limit() {
    let auto = strategy(&json!({}));
    let none = || json!({});
    let wanted = "update in place: candidates are m0, m1, m2";
    assert_eq!(plan(&auto, three([none(), none(), none()]), Vec::new()), wanted);
    let all = || three([candidate(), candidate(), candidate()]);
    assert_eq!(plan(&auto, all(), Vec::new()), "update in place: select m0");
    let two = strategy(&json!({"maxUnavailable": "67%"}));
    assert_eq!(plan(&two, all(), Vec::new()), "update in place: select m0, m1");
    let busy = three([updating("b", "EvictionBlocked"), candidate(), candidate()]);
    let waits = "no-op: 1 Machine being updated in place, 2 Machines waiting";
    assert_eq!(plan(&auto, busy, Vec::new()), waits);
    // Those that are not available are selected first, within the limit.
    let mut broken = all();
    broken[2].ready = None;
    assert_eq!(plan(&auto, broken, Vec::new()), "update in place: select m2");
    let mut broken = all();
    for one in &mut broken {
        one.ready = None;
    }
    assert_eq!(plan(&auto, broken.clone(), Vec::new()), "update in place: select m0");
    broken.pop();
    let mut updated = marked("m2", json!({}));
    updated.ready = None;
    let waits = "no-op: 2 Machines waiting";
    assert_eq!(plan(&auto, broken, vec![updated]), waits, "the update may have broken it");
    // After the move its Node is cordoned until the condition is gone.
    let moved = json!({"status": updating("b", "ReadyForUpdate")["status"]});
    let rest = || vec![marked("m0", candidate()), marked("m1", candidate())];
    let waits = "no-op: 2 Machines waiting";
    assert_eq!(plan(&auto, rest(), vec![marked("m2", moved)]), waits);
    let select = "update in place: select m0";
    assert_eq!(plan(&auto, rest(), vec![marked("m2", none())]), select);
}

#[test]
fn a_user_selects_with_manual_orchestration_and_the_limit_applies_all_the_same() {
    let manual = strategy(&json!({"orchestrationType": "Manual"}));
    let all = three([candidate(), candidate(), candidate()]);
    let label = "machinist.dev/in-place-update=selected";
    let waits = format!("no-op: 3 Machines to be selected with the label {label}");
    assert_eq!(plan(&manual, all, Vec::new()), waits);
    let picked = json!({"metadata": {"labels": {"machinist.dev/in-place-update": "selected"}}});
    let all = three([candidate(), picked.clone(), picked]);
    assert_eq!(plan(&manual, all, Vec::new()), "update in place: select m1");
}

#[test]
fn marks_follow_the_template_unless_the_agent_may_be_at_work() {
    let auto = strategy(&json!({}));
    for (own, machine, expected) in [
        ("a", updating("a", "Evicting"), "update in place: select m0"),
        ("a", with_result(updating("z", "Failed"), "failed"), "update in place: select m0"),
        ("b", updating("z", "Evicting"), "update in place: remove the marks of m0"),
        (
            "b",
            with_result(updating("z", "Failed"), "failed"),
            "update in place: remove the marks of m0",
        ),
        ("b", candidate(), "update in place: remove the marks of m0"),
        ("a", updating("z", "ReadyForUpdate"), "no-op: 1 Machine being updated in place"),
        (
            "a",
            updating("z", "TimedOut"),
            "no-op: 1 Machine needs attention (condition InPlaceUpdate)",
        ),
        (
            "a",
            with_result(updating("b", "Failed"), "failed"),
            "no-op: 1 Machine needs attention (condition InPlaceUpdate)",
        ),
        // The MachineSet of its template is gone.
        (
            "a",
            with_result(updating("z", "ReadyForUpdate"), "successful"),
            "update in place: remove the marks of m0",
        ),
    ] {
        let mut deployment = auto.clone();
        deployment["spec"]["replicas"] = json!(1);
        let own_members = vec![marked("m0", machine.clone())];
        let (a, b) = if own == "a" { (own_members, Vec::new()) } else { (Vec::new(), own_members) };
        assert_eq!(plan(&deployment, a, b), expected, "{own} {machine}");
    }
}

#[test]
fn with_another_strategy_marks_are_removed() {
    let mut rolling = deployment();
    rolling["spec"]["strategy"] = json!({"type": "RollingUpdate"});
    let all = three([candidate(), updating("b", "Evicting"), updating("b", "ReadyForUpdate")]);
    assert_eq!(plan(&rolling, all, Vec::new()), "update in place: remove the marks of m0, m1");
    // One that is updated is moved: its Node is put back into service then.
    let updated = with_result(updating("a", "ReadyForUpdate"), "successful");
    let (of_a, of_b) = (three([json!({}), json!({}), json!({})]).split_off(1), updated);
    let text = plan(&rolling, of_a, vec![marked("m0", of_b)]);
    assert_eq!(text, "hold MachineSet b while m0 is moved");
}

#[test]
fn a_stored_abort_ends_drains_and_selects_nothing() {
    let aborted = json!({"metadata": {"annotations": {
        "machinist.dev/rollout-aborted": "v1 2026-06-01T12:00:00Z",
    }}});
    let plan = |first: Value, surge: i64| {
        let rest = three([first, candidate(), candidate()]);
        let set = set("b", 0, 2, &aborted);
        let sets = vec![one("a", 1, rest), SetView { set, ..one("b", 2, Vec::new()) }];
        decide(&snapshot(&strategy(&json!({"maxSurge": surge})), sets), now()).to_string()
    };
    let rests = "no-op: the rollout is aborted";
    let offered = updating("b", "ReadyForUpdate");
    for (first, expected) in [
        (candidate(), rests),
        (updating("b", "Evicting"), "update in place: candidates are m0"),
        (offered.clone(), rests),
        (with_result(updating("b", "Failed"), "failed"), rests),
        (with_result(offered, "successful"), "hold MachineSet a while m0 is moved"),
    ] {
        assert_eq!(plan(first.clone(), 0), expected, "{first}");
        assert_eq!(plan(first, 1), expected, "nor is a Machine created");
    }
}

#[test]
fn machines_that_cannot_be_selected_are_named_with_the_reason() {
    let status = |mut machine: Value, status: Value| {
        merge(&mut machine, &json!({"status": status}));
        machine
    };
    let until = "2026-06-05T12:00:00Z";
    let mut kept = candidate();
    kept["metadata"]["annotations"] = json!({"machinist.dev/preserved-until": until});
    let mut all = three([status(candidate(), json!({"phase": "Failed"})), candidate(), kept]);
    all[1] = member("m1", None, &candidate());
    let expected = [
        ("m0", Obstacle::Failed),
        ("m1", Obstacle::WithoutNode),
        ("m2", Obstacle::Kept(until.parse().unwrap())),
    ];
    for orchestration in ["Auto", "Manual"] {
        let limits = strategy(&json!({"orchestrationType": orchestration}));
        let snapshot = snapshot(&limits, vec![one("a", 1, all.clone()), one("b", 2, Vec::new())]);
        let text = decide(&snapshot, now()).to_string();
        assert_eq!(text, "no-op: 3 Machines cannot be updated in place now");
        let view = snapshot.content.as_ref().unwrap();
        assert_eq!(Desired::of(view).unwrap().not_updatable(view, now()), expected);
    }
}

#[test]
fn a_move_brings_what_the_old_set_has_not_copied_to_the_machine_yet() {
    let value =
        |kind: &str, tag: &str| json!({"kind": "Hot", "instanceType": kind, "tags": {"t": tag}});
    let with = |kind: &str, pending: Value| {
        let mut annotations = json!({"machinist.dev/hot-fields": "tags"});
        if pending.is_string() {
            annotations["machinist.dev/pending-changes"] = pending;
        }
        let template = json!({"spec": {"providerSpec": {"value": value(kind, "new")}}});
        let patch =
            json!({"metadata": {"annotations": annotations}, "spec": {"template": template}});
        set(kind, 1, 1, &patch)
    };
    let mut own = value("a", "old");
    own["tags"]["mine"] = json!("1");
    let machine = member("m0", Some(60), &json!({"spec": {"providerSpec": {"value": own}}}));
    let machine = machine.machine.unwrap();
    let fields = json!({"spec": {"providerSpec": {"value": {"tags": {"t": null}}}}}).to_string();
    for (pending, expected) in [
        (json!(fields), json!({"instanceType": "b", "tags": {"t": "new"}})),
        (Value::Null, json!({"instanceType": "b"})),
    ] {
        let patch = move_patch(&machine, &with("a", pending), &with("b", Value::Null)).unwrap();
        assert_eq!(patch["spec"]["providerSpec"]["value"], expected);
    }
}

#[test]
fn a_move_to_a_template_without_labels_removes_those_of_the_old_one_and_no_others() {
    let labels = json!({"a": "1", "b": "1"});
    let old = json!({"spec": {"template": {"spec": {"metadata": {"labels": labels}}}}});
    let mut behind = old.clone();
    let fields = json!({"spec": {"metadata": {"labels": {"b": null}}}}).to_string();
    behind["metadata"]["annotations"]["machinist.dev/pending-changes"] = json!(fields);
    let own = json!({"a": "1", "b": "0", "mine": "1"});
    let machine = member("m0", Some(60), &json!({"spec": {"metadata": {"labels": own}}}));
    let machine = machine.machine.unwrap();
    for from in [old, behind] {
        let patch = move_patch(&machine, &set("a", 1, 1, &from), &set("b", 1, 2, &json!({})));
        assert_eq!(patch.unwrap()["spec"]["metadata"], json!({"labels": {"a": null, "b": null}}));
    }
}

#[test]
fn a_move_removes_a_hot_field_as_a_whole_although_a_part_of_it_changed_before() {
    let value = |tags: Value| json!({"kind": "Hot", "instanceType": "a", "tags": tags});
    let fields = json!({"spec": {"providerSpec": {"value": {"tags": {"t": null}}}}}).to_string();
    let with = |tags: Value, pending: &str| {
        let annotations = json!({
            "machinist.dev/hot-fields": "tags", "machinist.dev/pending-changes": pending,
        });
        let template = json!({"spec": {"providerSpec": {"value": value(tags)}}});
        let patch =
            json!({"metadata": {"annotations": annotations}, "spec": {"template": template}});
        set("a", 1, 1, &patch)
    };
    let own = value(json!({"t": "0", "u": "1"}));
    let machine = member("m0", Some(60), &json!({"spec": {"providerSpec": {"value": own}}}));
    let old = with(json!({"t": "1", "u": "1"}), &fields);
    let patch = move_patch(&machine.machine.unwrap(), &old, &with(Value::Null, "")).unwrap();
    assert_eq!(patch["spec"]["providerSpec"]["value"], json!({"tags": null}));
}

#[test]
fn defaults_that_a_webhook_has_added_to_machine_sets_need_no_instances() {
    let mut auto = strategy(&json!({}));
    let defaults = json!({"deviceIndex": 0, "placement": {"region": "r"}});
    let stored = json!({"spec": {"template": {"spec": {"providerSpec": {"value": defaults}}}}});
    let plan = |deployment: &Value, new: Option<&Value>| {
        let members = three([candidate(), candidate(), candidate()]);
        let mut sets = vec![SetView { set: set("a", 3, 1, &stored), ..one("a", 1, members) }];
        let new = new.map(|stored| SetView { set: set("b", 0, 2, stored), ..one("b", 2, vec![]) });
        sets.extend(new);
        decide(&snapshot(deployment, sets), now()).to_string()
    };
    let created = plan(&auto, None);
    assert!(created.starts_with("create MachineSet web-"), "{created}");
    for new in [json!({}), stored.clone()] {
        assert_eq!(plan(&auto, Some(&new)), "update in place: select m0");
    }
    auto["spec"]["template"]["spec"]["providerSpec"]["value"]["subnet"] = json!("x");
    let refused = plan(&auto, None);
    let changed = "providerSpec.value.subnet: none → x; ";
    assert!(refused.contains(changed) && !refused.contains("deviceIndex"), "{refused}");
}

#[test]
fn what_needs_new_instances_is_refused_by_name() {
    let mut auto = strategy(&json!({}));
    auto["spec"]["template"]["spec"]["providerSpec"]["value"]["subnet"] = json!("x");
    let text = plan(&auto, three([json!({}), json!({}), json!({})]), Vec::new());
    let field = "spec.template.spec.providerSpec.value.subnet: none → x";
    assert!(text.contains(field) && !text.contains("instanceType"), "{text}");
    let path = "/spec/strategy/inPlaceUpdate";
    for (limits, expected) in [
        (json!({"maxSurge": 0, "maxUnavailable": 0}), "must not both be 0"),
        (json!({"maxUnavailable": "101%"}), "inPlaceUpdate.maxUnavailable must be"),
        (json!({"orchestrationType": "Odd"}), "must be Auto or Manual"),
    ] {
        *auto.pointer_mut(path).unwrap() = limits;
        let text = plan(&auto, Vec::new(), Vec::new());
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_surge_creates_machines_of_the_new_template_and_then_deletes_old_ones() {
    let surge = strategy(&json!({"maxSurge": 1, "maxUnavailable": 0}));
    let all = three([candidate(), candidate(), candidate()]);
    assert_eq!(plan(&surge, all, Vec::new()), "scale b from 0 to 1");
    let all = || three([candidate(), candidate(), candidate()]);
    let new = |count: usize| {
        (0..count).map(|at| marked(&format!("n{at}"), json!({}))).collect::<Vec<_>>()
    };
    assert_eq!(plan(&surge, all(), new(1)), "update in place: select m0");
    assert_eq!(plan(&surge, vec![marked("m2", candidate())], new(3)), "scale a from 1 to 0");
}

/// The sets with holds; `m0` is in the set with this name.
fn held(at: &str, holds: [Option<&str>; 2], machine: Value) -> String {
    held_with(at, holds, machine, |_| {})
}

fn held_with(
    at: &str,
    holds: [Option<&str>; 2],
    machine: Value,
    change: impl Fn(&mut View),
) -> String {
    let hold = |text: Option<&str>| match text {
        None => json!({}),
        Some(side) => {
            let text = format!("v1 {side} m0 m0 {}", if side == "out" { "b" } else { "a" });
            json!({"metadata": {"annotations": {"machinist.dev/hold": text}}})
        }
    };
    let mut moved = vec![marked("m0", machine)];
    let mut members = |own: &str, other: &str| {
        let mut members = vec![marked(other, json!({}))];
        if at == own {
            members.append(&mut moved);
        }
        members
    };
    let one = |kind: &str, revision, size, hold: Value, members| SetView {
        set: set(kind, size, revision, &hold),
        members,
        leaving: 0,
        open: 0,
        late: None,
    };
    let sets = vec![
        one("a", 1, 2, hold(holds[0]), members("a", "x")),
        one("b", 2, 1, hold(holds[1]), members("b", "y")),
    ];
    let mut snapshot = snapshot(&strategy(&json!({})), sets);
    snapshot.content.iter_mut().for_each(change);
    decide(&snapshot, now()).to_string()
}

#[test]
fn a_move_of_what_cannot_be_written_is_given_up_and_holds_no_set() {
    let updated = || with_result(updating("b", "ReadyForUpdate"), "successful");
    let (out, both) = ([Some("out"), None], [Some("out"), Some("in")]);
    let waits = format!("no-op: {}", super::super::super::messages::WAITS_MOVE);
    for (at, holds, uid, expected) in [
        ("a", both, "m0", "release MachineSet b"),
        ("a", out, "m0", "release MachineSet a"),
        ("a", out, "b-uid", "release MachineSet a"),
        ("a", both, "b-uid", "move m0 from a to b"),
        ("b", both, "b-uid", &waits),
        ("b", out, "a-uid", &waits),
    ] {
        let refuse = |view: &mut View| {
            view.refused.objects.insert(machinist_domain::key::Uid(uid.into()));
        };
        assert_eq!(held_with(at, holds, updated(), refuse), expected, "{at} {holds:?} {uid}");
    }
    for uid in ["m0", "a-uid", "b-uid"] {
        let refuse = |view: &mut View| {
            view.refused.objects.insert(machinist_domain::key::Uid(uid.into()));
        };
        let text = held_with("a", [None, None], updated(), refuse);
        assert!(!text.contains("hold"), "{uid}: {text}");
    }
}

#[test]
fn marks_that_cannot_be_written_do_not_stop_the_others() {
    let refused = |machines: Vec<Member>| {
        let sets = vec![one("a", 1, machines), one("b", 2, Vec::new())];
        let mut snapshot = snapshot(&strategy(&json!({})), sets);
        let view = snapshot.content.as_mut().unwrap();
        view.refused.objects.insert(machinist_domain::key::Uid("m0".into()));
        decide(&snapshot, now()).to_string()
    };
    let none = || json!({});
    let all = three([none(), none(), none()]);
    assert_eq!(refused(all), "update in place: candidates are m1, m2");
    let all = three([candidate(), candidate(), candidate()]);
    assert_eq!(refused(all), "update in place: select m1");
}

#[test]
fn a_machine_whose_place_is_not_known_is_waited_for() {
    let waits = format!("no-op: {}", super::super::super::messages::WAITS_MOVE);
    let unread = |view: &mut View| {
        for one in view.sets.iter_mut().flat_map(|one| &mut one.members) {
            one.machine = one.machine.take().filter(|machine| *machine.meta.key.name != *"m0");
        }
    };
    let (out, both, inside) = ([Some("out"), None], [Some("out"), Some("in")], [None, Some("in")]);
    for (at, holds) in [("a", out), ("a", both), ("b", both), ("b", out), ("b", inside)] {
        assert_eq!(held_with(at, holds, json!({}), unread), waits, "{at} {holds:?}");
    }
}

#[test]
fn machines_that_a_set_may_delete_are_no_reserve() {
    let all = || three([candidate(), candidate(), candidate()]);
    let late = |late| {
        let sets = vec![SetView { late, ..one("a", 1, all()) }, one("b", 2, Vec::new())];
        decide(&snapshot(&strategy(&json!({})), sets), now()).to_string()
    };
    assert_eq!(late(None), "update in place: select m0");
    let until = std::time::Duration::from_secs(60);
    let sizes = LateSizes { least: 2, most: 3, until };
    assert_eq!(late(Some(sizes)), "no-op: 3 Machines waiting");
}

#[test]
fn a_move_follows_from_what_is_stored() {
    let updated = || with_result(updating("b", "ReadyForUpdate"), "successful");
    let (out, both, inside) = ([Some("out"), None], [Some("out"), Some("in")], [None, Some("in")]);
    for (at, holds, machine, expected) in [
        ("a", [None, None], updated(), "hold MachineSet a while m0 is moved"),
        ("a", out, updated(), "hold MachineSet b while m0 is moved"),
        ("a", both, updated(), "move m0 from a to b"),
        ("b", both, json!({}), "release MachineSet b, scaled from 1 to 2"),
        ("b", out, json!({}), "release MachineSet a, scaled from 2 to 1"),
        // It was changed, or deleted, in between.
        ("a", both, candidate(), "release MachineSet b"),
        ("a", out, candidate(), "release MachineSet a"),
        ("", both, json!({}), "release MachineSet b"),
        ("", out, json!({}), "release MachineSet a, scaled from 2 to 1"),
        ("b", inside, json!({}), "release MachineSet b, scaled from 1 to 2"),
        ("", inside, json!({}), "release MachineSet b"),
    ] {
        assert_eq!(held(at, holds, machine.clone()), expected, "{at} {holds:?} {machine}");
    }
}

#[test]
fn no_machine_is_moved_while_one_is_created_or_deleted() {
    let updated = || vec![marked("m0", with_result(updating("b", "ReadyForUpdate"), "successful"))];
    let mut all = strategy(&json!({}));
    all["spec"]["replicas"] = json!(1);
    let window = json!({"metadata": {"annotations": {"machinist.dev/ordinals": "0..1"}}});
    for (of_a, of_b, size) in [
        (window.clone(), json!({}), 1),
        (json!({}), window, 1),
        (json!({}), json!({}), 0),
        // An aborted set creates none of those that it wants.
        (json!({}), json!({}), 2),
    ] {
        let one = |kind: &str, size, revision, patch: &Value, members| SetView {
            set: set(kind, size, revision, patch),
            members,
            leaving: 0,
            open: 0,
            late: None,
        };
        let sets = vec![one("a", size, 1, &of_a, updated()), one("b", 0, 2, &of_b, Vec::new())];
        let text = decide(&snapshot(&all, sets), now()).to_string();
        assert_eq!(text.contains("hold"), size == 2, "{of_a} {of_b} {size}: {text}");
    }
}
