use serde_json::{Value, json};

use super::super::super::samples::{machine, member, now};
use super::*;

fn order(policy: DeletePolicy, machines: &[(&str, Value)]) -> Vec<String> {
    let members: Vec<_> =
        machines.iter().map(|(name, patch)| member(machine(name, patch))).collect();
    let chosen = first(&members, policy, members.len(), now());
    chosen.iter().map(|machine| machine.meta.key.name.to_string()).collect()
}

fn created(time: &str) -> Value {
    json!({"metadata": {"creationTimestamp": time}, "status": {"nodeRef": {"name": "n"}}})
}

#[test]
fn newest_and_oldest_sort_by_age() {
    let machines = [
        ("middle", created("2026-05-01T00:00:00Z")),
        ("old", created("2020-05-01T00:00:00Z")),
        ("young", created("2026-06-01T11:59:00Z")),
    ];
    assert_eq!(order(DeletePolicy::Oldest, &machines), ["old", "middle", "young"]);
    assert_eq!(order(DeletePolicy::Newest, &machines), ["young", "middle", "old"]);
}

#[test]
fn no_or_a_future_creation_time_counts_as_new() {
    for odd in ["2030-01-01T00:00:00Z", "", "yesterday"] {
        let machines = [("odd", created(odd)), ("old", created("2026-05-01T00:00:00Z"))];
        assert_eq!(order(DeletePolicy::Oldest, &machines), ["old", "odd"], "{odd}");
        assert_eq!(order(DeletePolicy::Newest, &machines), ["odd", "old"], "{odd}");
    }
}

#[test]
fn marked_machines_go_first_then_failed_ones_then_those_without_a_node() {
    let node = json!({"name": "n", "uid": "u"});
    let marked = |annotation: &str, value: &str| {
        let mut machine = created("2026-05-02T00:00:00Z");
        machine["metadata"]["annotations"] = json!({annotation: value});
        machine
    };
    let failed = |status: Value| {
        let mut machine = created("2026-05-02T00:00:00Z");
        machine["status"] = status;
        machine
    };
    for first in [
        marked("machine.openshift.io/delete-machine", "true"),
        marked("machine.openshift.io/cluster-api-delete-machine", "2026-01-01"),
    ] {
        for second in [
            failed(json!({"nodeRef": node, "phase": "Failed"})),
            failed(json!({"nodeRef": node, "errorReason": "CreateError"})),
            failed(json!({"nodeRef": node, "errorMessage": "no"})),
        ] {
            for policy in [DeletePolicy::Random, DeletePolicy::Newest, DeletePolicy::Oldest] {
                let machines = [
                    ("oldest", created("2020-01-01T00:00:00Z")),
                    ("newest", created("2026-06-01T11:59:59Z")),
                    ("bare", json!({"metadata": {"creationTimestamp": "2026-05-02T00:00:00Z"}})),
                    ("failed", second.clone()),
                    ("marked", first.clone()),
                ];
                assert_eq!(
                    order(policy, &machines)[..3],
                    ["marked", "failed", "bare"],
                    "{policy:?}"
                );
            }
        }
    }
}

#[test]
fn ignores_an_empty_mark() {
    let mut marked = created("2026-05-02T00:00:00Z");
    marked["metadata"]["annotations"] = json!({"machine.openshift.io/delete-machine": ""});
    let machines = [("marked", marked), ("old", created("2020-01-01T00:00:00Z"))];
    assert_eq!(order(DeletePolicy::Oldest, &machines), ["old", "marked"]);
}

#[test]
fn random_follows_the_uid_and_not_name_or_age() {
    let names: Vec<String> = (0..20).map(|n| format!("m{n:02}")).collect();
    let machines: Vec<_> =
        names.iter().map(|name| (name.as_str(), created("2026-05-01T00:00:00Z"))).collect();
    let chosen = order(DeletePolicy::Random, &machines);
    assert_ne!(chosen, names);
    let reversed: Vec<_> = machines.iter().rev().cloned().collect();
    assert_eq!(order(DeletePolicy::Random, &reversed), chosen, "a repeated decision is the same");
    let mut other = machines.clone();
    for (at, (_, machine)) in other.iter_mut().enumerate() {
        machine["metadata"]["uid"] = json!(format!("{}", 1000 - at));
    }
    assert_ne!(order(DeletePolicy::Random, &other), chosen);
}
