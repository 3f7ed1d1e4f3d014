//! What another controller remediates, and what a freeze stops.

use machinist_domain::meta::Meta;

use super::super::super::plan::Ended;
use super::super::super::snapshot::{External, Template, Unavailable};
use super::*;
use crate::kinds::RemediationRequest;

const KIND: &str = "Fix";

fn reference() -> Value {
    json!({"remediationTemplate":
        {"apiVersion": "fix.example.dev/v1", "kind": "FixTemplate", "name": "power-cycle"}})
}

fn external() -> External {
    let template = Template {
        name: "power-cycle".to_owned(),
        group_kind: "FixTemplate.fix.example.dev".to_owned(),
        request_kind: KIND,
        body: Arc::new(json!({"spec": {}})),
    };
    External { kind: KIND.to_owned(), template: Ok(template), requests: Ok(()) }
}

fn seen(members: Vec<Member>) -> View {
    View { external: Some(external()), ..view(spec(&reference()), members, 0) }
}

/// With a remediation object that this health check created for the Machine.
fn requested(member: Member) -> Member {
    let uid = Uid(format!("uid-of-request-{}", member.meta.key.name).as_str().into());
    let request = RemediationRequest {
        meta: Meta { uid, ..member.meta.clone() },
        owners: [member.meta.uid.clone()].into(),
        cloned_from: Some("power-cycle".into()),
        health_check: Some("c".into()),
    };
    Member { request: Some(Arc::new(request)), ..member }
}

fn requests(view: View) -> Vec<Step> {
    assessed(view).findings.into_iter().map(|one| one.step).collect()
}

fn ended(view: View) -> Vec<String> {
    let name = |one: Ended| one.machine.key.name.to_string();
    assessed(view).ended.into_iter().map(name).collect()
}

#[test]
fn with_a_template_an_object_is_requested_once_and_no_machine_deleted() {
    assert_eq!(requests(seen(fleet(1, 1))), [Step::Request]);
    let once = vec![requested(with_node("m", "Unknown", -60)), healthy("n")];
    assert_eq!(requests(seen(once)), [Step::Requested(KIND.to_owned())]);
    // As OpenShift: one that has failed, or has no owner, too.
    let failed = json!({"status": {"phase": "Failed"}, "metadata": {"ownerReferences": []}});
    assert_eq!(requests(seen(vec![bad(&failed)])), [Step::Request]);
}

#[test]
fn too_many_unhealthy_machines_and_holds_stop_requests_too() {
    let mut limited = seen(fleet(2, 1));
    limited.check = check(&json!({"spec": {"maxUnhealthy": 1}}));
    let too_many = Step::Held(Hold::TooManyUnhealthy);
    assert_eq!(requests(limited), [too_many.clone(), too_many]);
    let kept = json!({"metadata": {"annotations": {"machinist.dev/preserve": "now"}}});
    assert_eq!(requests(seen(vec![bad(&kept)])), [Step::Held(Hold::Preserved(None))]);
    // Of the control plane one after the other: the first is remediated until it is healthy.
    let two = vec![requested(master("a", "Unknown")), master("b", "Unknown")];
    let waits = Step::Held(Hold::ControlPlaneInFlight(ObjectKey::new("ns", "a")));
    assert_eq!(requests(seen(two)), [Step::Requested(KIND.to_owned()), waits]);
}

#[test]
fn what_is_remediated_externally_uses_the_budget() {
    let all = || vec![requested(with_node("a", "Unknown", -60)), with_node("b", "Unknown", -60)];
    let with = |max: i32| {
        let deployments = limited(deployment(json!(max), 2, 2, &[]), Vec::new()).deployments;
        requests(View { deployments, ..seen(all()) }).pop().unwrap()
    };
    assert!(matches!(with(1), Step::Held(Hold::Budget { in_flight: 1, limit: 1, .. })));
    assert_eq!(with(2), Step::Request);
}

#[test]
fn an_object_is_deleted_when_its_machine_is_healthy_and_it_is_ours() {
    let with = |change: fn(&mut RemediationRequest)| {
        let mut member = requested(healthy("m"));
        let mut request = (*member.request.unwrap()).clone();
        change(&mut request);
        member.request = Some(Arc::new(request));
        ended(seen(vec![member]))
    };
    assert_eq!(with(|_| {}), ["m"]);
    assert_eq!(with(|one| one.health_check = None), ["m"], "OpenShift's controller created it");
    assert!(with(|one| one.health_check = Some("other".into())).is_empty());
    assert!(with(|one| (one.health_check, one.cloned_from) = (None, None)).is_empty());
    assert!(with(|one| one.owners = [Uid("former".into())].into()).is_empty());
    assert!(with(|one| one.meta.deleting = true).is_empty());
    // One that may become unhealthy again keeps it.
    let suspect = requested(with_node("m", "Unknown", -1));
    assert!(ended(seen(vec![suspect])).is_empty());
}

#[test]
fn without_a_template_or_the_list_of_objects_nothing_is_created() {
    let missing = Unavailable::NotFound(ObjectKey::new("ns", "power-cycle"));
    let held = [Step::Held(Hold::NoTemplate(missing.clone()))];
    let without = External { template: Err(missing.clone()), ..external() };
    assert_eq!(requests(View { external: Some(without), ..seen(fleet(1, 0)) }), held);
    let unlisted = External { requests: Err(missing), ..external() };
    assert_eq!(requests(View { external: Some(unlisted), ..seen(fleet(1, 0)) }), held);
}

#[test]
fn an_object_that_is_gone_is_created_again_after_a_pause() {
    let again = |until| {
        let member = Member { request_pause: Some(at(until)), ..with_node("m", "Unknown", -60) };
        requests(seen(vec![member]))
    };
    assert_eq!(again(1), [Step::Held(Hold::RequestPause(at(1)))]);
    assert_eq!(again(0), [Step::Request]);
}

#[test]
fn the_strategy_external_baremetal_annotates_once_and_deletes_what_has_failed() {
    let strategy = json!({"metadata": {"annotations":
        {"machine.openshift.io/remediation-strategy": "external-baremetal"}}});
    let with = |member| requests(view(check(&strategy), vec![member], 0));
    assert_eq!(with(with_node("m", "Unknown", -60)), [Step::Annotate]);
    let marked = annotated("host.metal3.io/external-remediation", "");
    assert_eq!(with(marked), [Step::Held(Hold::External)]);
    assert_eq!(with(bad(&json!({"status": {"phase": "Failed"}}))), [Step::Remediate]);
}

#[test]
fn a_frozen_machine_is_held_and_uses_no_budget() {
    let frozen = Member { frozen: Some("annotation".into()), ..with_node("a", "Unknown", -60) };
    let members = vec![frozen, with_node("b", "Unknown", -50)];
    let view = limited(deployment(json!(1), 2, 2, &[]), members);
    assert_eq!(requests(view), [Step::Held(Hold::Frozen("annotation".into())), Step::Remediate]);
}
