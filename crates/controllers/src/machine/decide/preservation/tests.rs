use std::sync::Arc;

use machinist_domain::observed::Observed;
use machinist_provider::cloud::InstanceState;
use machinist_runtime::cache::kind::Kind as _;
use serde_json::{Value, json};

use super::super::super::samples::{
    all, conditions, deleting, instance, now, object, recorded, snapshot, view_of,
};
use super::super::super::snapshot::View;
use super::super::super::unmarked::Unmarked;
use super::super::decide;
use super::*;
use crate::drain::Step;
use crate::kinds::{Node, Nodes};

const LATER: &str = "2026-06-01T12:01:01Z";
const OVER: &str = "2026-06-01T12:01:00Z";
const IN_FOUR_DAYS: &str = "2026-06-05T12:01:00Z";
const IN_AN_HOUR: &str = "2026-06-01T13:01:00Z";

/// Linked to a Node, if there is one, and its instance runs.
fn view(annotations: &Value, phase: &str, node: Option<&Value>) -> View {
    let linked = json!({
        "metadata": {"annotations": annotations},
        "status": {"phase": phase, "nodeRef": {"name": "n", "uid": "uid-n"}},
    });
    let mut view = view_of(&object(&all(&[recorded(), linked])));
    view.observed = Observed::Present(instance(InstanceState::Running));
    view.node = node.map(read);
    view
}

/// Its Node has been ready, or not ready, for so many minutes.
fn node(ready: &str, minutes: i64, patch: &Value) -> Value {
    let since = now() - std::time::Duration::from_secs(60 * minutes.unsigned_abs());
    let ready = json!({"type": "Ready", "status": ready, "lastTransitionTime": since.to_string()});
    all(&[
        json!({
            "metadata": {"name": "n", "uid": "uid-n", "resourceVersion": "1"},
            "spec": {"providerID": "p:///i-1"},
            "status": {"conditions": [ready]},
        }),
        patch.clone(),
    ])
}

fn read(node: &Value) -> Arc<Node> {
    Arc::new(Nodes.project(serde_json::from_str(&node.to_string()).unwrap()))
}

fn plan(view: View) -> String {
    decide(&snapshot(view), now()).to_string()
}

/// What is on the Node while a Machine is kept.
fn held() -> Value {
    json!({"metadata": {"annotations": {
        "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
        "machinist.dev/scale-down-disabled-by": "machine",
    }}})
}

fn tainted() -> Value {
    let theirs = json!({"key": "theirs", "effect": "NoSchedule"});
    let own = json!({"key": "machinist.dev/preserved", "effect": "NoSchedule"});
    json!({"spec": {"taints": [theirs, own]}})
}

#[test]
fn begins_once_and_stores_its_end() {
    let begins = |until: &str| format!("keep the Machine for debugging until {until}");
    let nothing = "update status: instance i-1 is running".to_owned();
    let unready = |minutes| Some(node("False", minutes, &json!({})));
    let ready = || Some(node("True", 60, &json!({})));
    let (now, failed) = (json!("now"), json!("when-failed"));
    for (preserve, timeout, phase, node, expected) in [
        (&now, None, "Running", ready(), begins(IN_FOUR_DAYS)),
        (&now, None, "Running", None, begins(IN_FOUR_DAYS)),
        (&now, None, "Failed", None, begins(IN_FOUR_DAYS)),
        (&now, Some("1h"), "Running", ready(), begins(IN_AN_HOUR)),
        // An invalid time: the default.
        (&now, Some("soon"), "Running", ready(), begins(IN_FOUR_DAYS)),
        (&failed, None, "Running", ready(), nothing.clone()),
        (&failed, Some("1h"), "Failed", ready(), begins(IN_AN_HOUR)),
        (&failed, None, "Running", unready(9), nothing.clone()),
        (&failed, None, "Running", unready(10), begins(IN_FOUR_DAYS)),
        (&json!("false"), None, "Running", unready(10), nothing.clone()),
        (&json!("yes"), None, "Running", unready(10), nothing.clone()),
        (&Value::Null, None, "Running", unready(10), nothing.clone()),
    ] {
        let annotations =
            json!({"machinist.dev/preserve": preserve, "machinist.dev/preserve-timeout": timeout});
        let case = format!("{annotations} {phase} {node:?}");
        assert_eq!(plan(view(&annotations, phase, node.as_ref())), expected, "{case}");
    }
}

#[test]
fn the_node_decides_and_the_health_timeout_counts() {
    let on_node =
        |value: &str| json!({"metadata": {"annotations": {"machinist.dev/preserve": value}}});
    let begins = |annotations: Value, minutes, value: &str| {
        let node = node("Unknown", minutes, &on_node(value));
        plan(view(&annotations, "Running", Some(&node))).starts_with("keep the Machine")
    };
    let machine = |value: &str| json!({"machinist.dev/preserve": value});
    assert!(begins(machine("false"), 1, "now"));
    assert!(!begins(machine("now"), 99, "false"));
    assert!(!begins(machine("now"), 9, "when-failed"));
    assert!(begins(json!({"machinist.dev/health-timeout": "9m"}), 9, "when-failed"));
    assert!(!begins(json!({"machinist.dev/health-timeout": "11m"}), 10, "when-failed"));
    // A Node that is gone: since its Machine reports that.
    for (since, expected) in [("2026-06-01T11:51:01Z", false), ("2026-06-01T11:51:00Z", true)] {
        let mut missing = conditions(&[("Ready", "False", "NodeMissing")]);
        missing["status"]["conditions"][0]["lastTransitionTime"] = json!(since);
        let annotated = json!({"metadata": {"annotations": machine("when-failed")}});
        let linked = json!({"status": {"nodeRef": {"name": "n", "uid": "uid-n"}}});
        let mut view = view_of(&object(&all(&[recorded(), linked, missing, annotated])));
        view.observed = Observed::Present(instance(InstanceState::Running));
        assert_eq!(plan(view).starts_with("keep the Machine"), expected, "{since}");
    }
}

#[test]
fn marks_the_node_while_it_lasts_and_taints_it_only_if_failed() {
    let patch_of = |preserve: &str, until: &str, phase: &str, node: Value| {
        let annotations =
            json!({"machinist.dev/preserve": preserve, "machinist.dev/preserved-until": until});
        match decide(&snapshot(view(&annotations, phase, Some(&node))), now()) {
            Plan::MarkNode { node, patch } => {
                assert_eq!(&*node.uid.0, "uid-n");
                patch
            }
            plan => json!(plan.to_string()),
        }
    };
    let ready = |patch: &Value| node("True", 60, patch);
    let theirs = json!({"spec": {"taints": [{"key": "theirs", "effect": "NoSchedule"}]}});
    let both = all(&[held(), tainted()]);
    let released = json!({"metadata": {"annotations": {
        "cluster-autoscaler.kubernetes.io/scale-down-disabled": null,
        "machinist.dev/scale-down-disabled-by": null,
    }}});
    let released = |others: &Value| {
        let mut patch = released.clone();
        patch["spec"] = others["spec"].clone();
        patch
    };
    let settled = json!("update status: instance i-1 is running");
    assert_eq!(patch_of("now", LATER, "Running", ready(&theirs)), held());
    assert_eq!(patch_of("now", LATER, "Running", ready(&held())), settled);
    let failed = patch_of("now", LATER, "Failed", ready(&theirs));
    assert_eq!(failed, both);
    // It has recovered, which ends when-failed and leaves now.
    assert_eq!(patch_of("now", LATER, "Running", ready(&both)), theirs);
    assert_eq!(patch_of("when-failed", LATER, "Running", ready(&both)), released(&theirs));
    for (preserve, until) in [("now", OVER), ("false", LATER)] {
        let patch = patch_of(preserve, until, "Failed", ready(&both));
        assert_eq!(patch, released(&theirs), "{preserve}");
    }
    // Of others, although it is the same.
    let annotations = json!({"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"});
    let users = json!({"metadata": {"annotations": annotations}});
    assert_eq!(patch_of("now", LATER, "Running", ready(&users)), settled);
    assert_eq!(patch_of("now", OVER, "Running", ready(&users)), settled);
}

#[test]
fn a_failed_machine_stays_failed_until_its_node_is_ready_and_the_end_stays_as_long_as_the_request()
{
    let ends = "keep the Machine for debugging no longer";
    let settled = "update status: instance i-1 is running";
    let failed = "no-op: the phase is Failed";
    for (preserve, until, phase, node, expected) in [
        (json!("when-failed"), LATER, "Running", node("True", 1, &json!({})), ends),
        (json!("when-failed"), OVER, "Running", node("True", 1, &json!({})), ends),
        // Not ready again a moment after it was.
        (
            json!("when-failed"),
            LATER,
            "Running",
            node("False", 1, &all(&[held(), tainted()])),
            settled,
        ),
        (json!("now"), LATER, "Running", node("False", 1, &held()), settled),
        (json!("now"), OVER, "Running", node("True", 1, &json!({})), settled),
        (json!("when-failed"), OVER, "Failed", node("True", 1, &json!({})), failed),
        (json!("false"), LATER, "Failed", node("True", 1, &json!({})), ends),
        (Value::Null, OVER, "Running", node("True", 1, &json!({})), ends),
        // A typing error ends nothing.
        (json!("flase"), LATER, "Running", node("True", 1, &held()), settled),
    ] {
        let annotations = json!({
            "machinist.dev/preserve": preserve, "machinist.dev/preserved-until": until,
            "machine.openshift.io/instance-state": if phase == "Failed" { "Unknown" } else { "running" },
        });
        let case = format!("{annotations} {phase} {node}");
        assert_eq!(plan(view(&annotations, phase, Some(&node))), expected, "{case}");
    }
}

/// It may be that Node which requests it.
#[test]
fn ends_without_a_readable_node_only_by_the_machine_or_in_time() {
    let ends = "keep the Machine for debugging no longer";
    let settled = "update status: instance i-1 is running";
    let unlinked = json!({"status": {"nodeRef": null}});
    for (preserve, until, linked, expected) in [
        (Value::Null, LATER, true, settled),
        (Value::Null, OVER, true, settled),
        (Value::Null, LATER, false, ends),
        (json!("false"), LATER, true, ends),
        (json!("now"), LATER, true, settled),
    ] {
        let annotations =
            json!({"machinist.dev/preserve": preserve, "machinist.dev/preserved-until": until});
        let mut view = view(&annotations, "Running", None);
        if !linked {
            let metadata = json!({"metadata": {"annotations": annotations}});
            let machine = object(&all(&[recorded(), metadata, unlinked.clone()]));
            view = View { observed: view.observed.clone(), ..view_of(&machine) };
        }
        let is_kept = matches!(view.preservation(now()), Standing::Kept { .. });
        assert_eq!(is_kept, expected == settled && until == LATER, "{preserve} {until} {linked}");
        assert_eq!(plan(view), expected, "{preserve} {until} {linked}");
    }
}

#[test]
fn a_node_that_cannot_be_marked_does_not_stop_its_machine() {
    let with = |until: &str, patch: &Value| {
        let annotations =
            json!({"machinist.dev/preserve": "false", "machinist.dev/preserved-until": until});
        let node = node("True", 60, patch);
        let mut view = view(&annotations, "Running", Some(&node));
        let wait = std::time::Duration::from_secs(4);
        view.unmarked = Some(Unmarked { wait, why: "no".into() });
        plan(view)
    };
    let marked = all(&[held(), tainted()]);
    assert_eq!(with(LATER, &marked), "keep the Machine for debugging no longer");
    let kept = json!({"machinist.dev/preserve": "now", "machinist.dev/preserved-until": LATER});
    let node = node("True", 60, &json!({}));
    let mut view = view(&kept, "Running", Some(&node));
    assert!(plan(view.clone()).starts_with("patch node n: "));
    let wait = std::time::Duration::from_secs(4);
    view.unmarked = Some(Unmarked { wait, why: "no".into() });
    assert_eq!(plan(view), "update status: instance i-1 is running");
}

#[test]
fn another_machine_api_gets_a_node_without_marks() {
    for (authority, marks, expected) in [
        ("ClusterAPI", all(&[held(), tainted()]), true),
        ("Migrating", held(), true),
        ("ClusterAPI", json!({}), false),
    ] {
        let kept = json!({"machinist.dev/preserve": "now", "machinist.dev/preserved-until": LATER});
        let linked = json!({
            "metadata": {"annotations": kept},
            "status": {"nodeRef": {"name": "n", "uid": "uid-n"}, "authoritativeAPI": authority},
        });
        let mut elsewhere = view_of(&object(&all(&[recorded(), linked])));
        elsewhere.rules.obey_migration = true;
        elsewhere.node = Some(read(&node("True", 60, &marks)));
        let plan = plan(elsewhere);
        assert_eq!(plan.starts_with("patch node n: "), expected, "{authority}: {plan}");
        assert_eq!(plan == "no-op: managed elsewhere", !expected, "{plan}");
    }
}

#[test]
fn a_deletion_and_another_machine_api_win() {
    let annotations =
        json!({"machinist.dev/preserve": "now", "machinist.dev/preserved-until": LATER});
    let annotated = json!({"metadata": {"annotations": annotations}});
    let view = view_of(&object(&all(&[recorded(), deleting(), annotated])));
    assert_eq!(plan(view), format!("drain: {}", Step::Skipped.as_str()));
    let mut elsewhere = super::super::super::samples::view(&json!({
        "metadata": {"annotations": {"machinist.dev/preserve": "now"}},
        "status": {"authoritativeAPI": "ClusterAPI"},
    }));
    elsewhere.rules.obey_migration = true;
    assert_eq!(plan(elsewhere), "no-op: managed elsewhere");
}
