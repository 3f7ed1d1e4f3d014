//! Which failed Machines are kept for debugging (`spec.autoPreserveFailedMachineMax`). Before a scale-down, which takes
//! failed Machines first.

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_PRESERVE, PRESERVE_AUTO};

use super::super::snapshot::{Member, View};
use crate::deletion_order::is_marked_by_others;
use crate::kinds::Machine;

/// The newest ones for which nothing is requested, on the Machine or its Node, as many as there is room for.
pub(super) fn failed(view: &View, now: Timestamp) -> Vec<Arc<Machine>> {
    let most = view.deployment.spec.preserve_failed.unwrap_or(0);
    let most = usize::try_from(most).unwrap_or(0);
    if most == 0 {
        return Vec::new();
    }
    let sets = view.sets.iter().filter(|one| !one.set.meta.deleting);
    let members: Vec<_> = sets.flat_map(|one| &one.members).collect();
    let kept = members.iter().filter(|member| is_kept(member, now)).count();
    let candidates = members.iter().filter(|member| is_candidate(member, view));
    let mut machines: Vec<_> = candidates.filter_map(|it| it.machine.clone()).collect();
    machines.sort_by_key(|one| (Reverse(one.created), one.meta.key.clone()));
    machines.truncate(most.saturating_sub(kept));
    machines
}

fn is_kept(member: &Member, now: Timestamp) -> bool {
    let machine = member.machine.as_deref();
    let by_us =
        machine.and_then(|it| it.annotations.get(ANNOTATION_PRESERVE)) == Some(PRESERVE_AUTO);
    by_us && member.preserved(now).is_some()
}

fn is_candidate(member: &Member, view: &View) -> bool {
    let machine = member.machine.as_ref().filter(|one| !view.refused.has(&one.meta));
    let Some(machine) = machine else { return false };
    let requested =
        member.preserve_on_node.is_some() || machine.annotations.contains(ANNOTATION_PRESERVE);
    member.has_failed() && !requested && !is_marked_by_others(machine)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::samples::{deployment, member, now, set, snapshot, with_members};
    use super::super::decide;
    use super::*;

    fn failed(name: &str, annotations: &Value, age: u32) -> Member {
        let created = format!("2026-06-01T11:{:02}:00Z", 59 - age);
        let metadata = json!({"annotations": annotations, "creationTimestamp": created});
        member(name, None, &json!({"metadata": metadata, "status": {"phase": "Failed"}}))
    }

    fn plan(most: Value, members: Vec<Member>) -> String {
        let mut deployment = deployment();
        deployment["spec"]["autoPreserveFailedMachineMax"] = most;
        let mut old = with_members(set("a", 3, 1, &json!({})), 1, 0);
        old.members.extend(members);
        let new = with_members(set("b", 1, 2, &json!({})), 0, 1);
        decide(&snapshot(&deployment, vec![old, new]), now()).to_string()
    }

    #[test]
    fn keeps_the_newest_failed_machines_up_to_the_maximum() {
        let none = || json!({});
        let preserve = |value: &str| json!({"machinist.dev/preserve": value});
        let all =
            || vec![failed("x", &none(), 3), failed("y", &none(), 1), failed("z", &none(), 2)];
        let without = plan(Value::Null, all());
        assert!(!without.starts_with("preserve"), "{without}");
        assert_eq!(plan(json!(1), all()), "preserve y");
        assert_eq!(plan(json!(2), all()), "preserve y, z");
        assert_eq!(plan(json!(9), all()), "preserve y, z, x");
        // One that is kept has a place, one that users request has none, and `false` is a request, too.
        let mut kept = all();
        kept.push(failed("k", &preserve("auto"), 9));
        kept.push(failed("u", &preserve("now"), 9));
        kept.push(failed("n", &preserve("false"), 0));
        assert_eq!(plan(json!(2), kept.clone()), "preserve y");
        // Its place is free when its time is over.
        let mut over = preserve("auto");
        over["machinist.dev/preserved-until"] = json!("2026-06-01T12:00:00Z");
        kept[3] = failed("k", &over, 9);
        assert_eq!(plan(json!(2), kept), "preserve y, z");
        // cluster-autoscaler has chosen it.
        let marked = json!({"machine.openshift.io/delete-machine": "now"});
        assert_eq!(
            plan(json!(1), vec![failed("m", &marked, 0), failed("x", &none(), 5)]),
            "preserve x"
        );
    }
}
