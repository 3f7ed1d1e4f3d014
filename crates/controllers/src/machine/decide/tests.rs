use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::cloud::{Instance, InstanceState, ObservedInstance};
use machinist_provider::spec::SpecError;
use serde_json::{Value, json};

use super::super::error::{Fatal, Refusal};
use super::super::samples::{
    all, conditions, deleting, failure, instance, node, now, recorded, snapshot, view,
};
use super::super::snapshot::{Call, Pause, REASON_INSTANCE_GONE, Snapshot, Unrepaired};
use super::*;
use crate::served::Field;

fn plan(view: View) -> Plan {
    decide(&snapshot(view), now())
}

fn seen(patch: &Value, observed: ObservedInstance) -> Plan {
    plan(View { observed, ..view(patch) })
}

fn launched() -> Value {
    json!({"status": {"phase": "Provisioning", "providerStatus": {"launch": {"attempt": 1}}}})
}

fn annotation(name: &str, value: &str) -> Value {
    json!({"metadata": {"annotations": {name: value}}})
}

#[test]
fn the_way_up() {
    let running = || Observed::Present(instance(InstanceState::Running));
    let with_node =
        all(&[recorded(), json!({"status": {"nodeRef": {"name": "n", "uid": "uid-n"}}})]);
    let bare = json!({"metadata": {"finalizers": null}});
    let cases = [
        ("bare", bare, Observed::NotAsked, Plan::AddFinalizer),
        ("new", json!({}), Observed::NotAsked, Plan::Prepare { attempt: 1 }),
        ("prepared", launched(), Observed::NotAsked, Plan::Create { attempt: 1 }),
        ("recorded, not asked yet", recorded(), Observed::NotAsked, Plan::AwaitCloud),
        (
            "recorded and seen",
            recorded(),
            running(),
            Plan::UpdateStatus(instance(InstanceState::Running)),
        ),
        (
            "linked and seen",
            with_node,
            running(),
            Plan::UpdateStatus(instance(InstanceState::Running)),
        ),
        (
            "begun by another controller",
            json!({"status": {"phase": "Provisioning"}}),
            Observed::NotAsked,
            Plan::AwaitCloud,
        ),
        (
            "begun by another controller that made nothing",
            json!({"status": {"phase": "Provisioning"}}),
            Observed::Absent,
            Plan::Prepare { attempt: 1 },
        ),
    ];
    for (name, machine, observed, expected) in cases {
        assert_eq!(seen(&machine, observed), expected, "{name}");
    }
}

#[test]
fn what_an_instance_is_is_recorded_in_one_patch_and_only_once() {
    let spot =
        Arc::new(Instance { interruptible: true, ..(*instance(InstanceState::Running)).clone() });
    let Plan::Record(patch) = seen(&launched(), Observed::Present(Arc::clone(&spot))) else {
        panic!("nothing is recorded");
    };
    let interruptible = json!({"machine.openshift.io/interruptible-instance": ""});
    let expected = all(&[
        json!({"metadata": recorded()["metadata"], "spec": recorded()["spec"]}),
        json!({"metadata": {"labels": interruptible}, "spec": {"metadata": {"labels": interruptible}}}),
    ]);
    assert_eq!(patch, expected);
    let again = seen(&all(&[launched(), patch]), Observed::Present(Arc::clone(&spot)));
    assert_eq!(again, Plan::UpdateStatus(spot));
}

#[test]
fn drift_is_repaired_unless_machines_like_this_one_pause() {
    let drifted =
        Instance { drift: Some("tag x".to_owned()), ..(*instance(InstanceState::Running)).clone() };
    let observed = Observed::Present(Arc::new(drifted));
    assert_eq!(seen(&recorded(), observed.clone()), Plan::Repair("tag x".to_owned()));
    let why = failure(Category::Throttled);
    let pause = Some(Pause { wait: Duration::from_secs(3), why });
    let paused = plan(View { observed: observed.clone(), pause, ..view(&recorded()) });
    assert!(matches!(paused, Plan::UpdateStatus(_)), "{paused}");
    let after = |wait| {
        let unrepaired = Some(Unrepaired { wait, why: "it still differs".into() });
        plan(View { observed: observed.clone(), unrepaired, ..view(&recorded()) })
    };
    let early = after(Duration::from_secs(1));
    assert!(matches!(early, Plan::UpdateStatus(_)), "{early}");
    assert_eq!(after(Duration::ZERO), Plan::Repair("tag x".to_owned()));
}

#[test]
fn the_gate_is_that_of_the_next_call() {
    let machines = [json!({}), launched(), recorded(), all(&[recorded(), deleting()])];
    let calls = machines.map(|machine| view(&machine).next_call());
    assert_eq!(calls, [Call::Create, Call::Create, Call::Update, Call::Delete]);
}

#[test]
fn looks_for_a_node_that_may_not_be_in_the_cache() {
    let linked = json!({"status": {"nodeRef": {"name": "n", "uid": "uid-n"}}});
    let gone = |drained: &str| {
        let drained = ("Drained", "True", drained);
        all(&[
            recorded(),
            deleting(),
            conditions(&[("InstanceExists", "False", REASON_INSTANCE_GONE), drained]),
        ])
    };
    let looks = |patches: &[Value]| view(&all(patches)).may_have_late_node();
    assert!(looks(&[gone("Succeeded")]), "it was never linked");
    assert!(looks(&[gone("Skipped"), linked.clone()]), "no drain has read it");
    assert!(!looks(&[gone("Succeeded"), linked.clone()]), "it was drained, and deleted since");
    let seen = View { node: Some(node("True")), ..view(&all(&[gone("Skipped"), linked])) };
    assert!(!seen.may_have_late_node(), "it is in the cache");
}

#[test]
fn starts_another_attempt_only_after_the_last_one_is_certain_to_have_failed() {
    let refused = |observed| plan(View { refused_attempt: Some(1), observed, ..view(&launched()) });
    assert_eq!(refused(Observed::NotAsked), Plan::AwaitCloud);
    let unknown = Observed::Unknown(failure(Category::Unavailable));
    assert!(matches!(refused(unknown), Plan::Refuse(Refusal::CouldNotLook(_))));
    let early =
        Failure { retry: Retry::Again(Duration::from_secs(3)), ..failure(Category::Unavailable) };
    assert_eq!(refused(Observed::Unknown(early)), Plan::Wait(Duration::from_secs(3)));
    assert_eq!(refused(Observed::Absent), Plan::Prepare { attempt: 2 });
    assert!(matches!(
        refused(Observed::Present(instance(InstanceState::Pending))),
        Plan::Record(_)
    ));
    // The stored attempt is another one.
    let later = View { refused_attempt: Some(7), ..view(&launched()) };
    assert_eq!(plan(later), Plan::Create { attempt: 1 });
}

#[test]
fn fails_only_for_what_cannot_recover() {
    let invalid = json!({"spec": {"providerSpec": {"value": {"zone": 7}}}});
    let bad = || SpecError::Invalid { reason: "zone is missing".to_owned() };
    let fatal = Fatal::InvalidConfiguration(Refusal::BadSpec(bad()).to_string());
    assert_eq!(plan(view(&invalid)), Plan::Fail(fatal));
    let edited = all(&[launched(), invalid]);
    assert_eq!(
        plan(view(&edited)),
        Plan::Refuse(Refusal::BadSpec(bad())),
        "it may have an instance"
    );

    let missing = json!({"spec": {"providerSpec": null}});
    assert_eq!(plan(view(&missing)), Plan::Refuse(Refusal::BadSpec(SpecError::Missing)));
    let unlabelled = json!({"metadata": {"labels": null}});
    assert_eq!(plan(view(&unlabelled)), Plan::Refuse(Refusal::NoClusterLabel));
    let foreign = SpecError::ForeignKind { kind: "Other".to_owned(), known: Vec::new() };
    let no_secret = Refusal::NoSecret(ObjectKey::new("ns", "s"));
    let troubled = Refusal::NotFoundOut(failure(Category::Unavailable));
    for refusal in [Refusal::BadSpec(foreign), no_secret, troubled] {
        let refused = View { reach: Some(Err(refusal.clone())), ..view(&json!({})) };
        assert_eq!(plan(refused), Plan::Refuse(refusal));
    }
}

#[test]
fn fails_for_a_missing_instance_late_and_only_if_certain() {
    let since = |time: &str| {
        let mut seen = conditions(&[("InstanceExists", "True", "")]);
        seen["status"]["conditions"][0]["lastTransitionTime"] = json!(time);
        all(&[recorded(), seen])
    };
    let young = since("2026-06-01T12:00:40Z");
    assert_eq!(seen(&young, Observed::Absent), Plan::Wait(Duration::from_secs(40)));
    let old = since("2026-06-01T11:00:00Z");
    let fatal = Fatal::Missing(Some("p:///i-1".into()));
    assert_eq!(seen(&old, Observed::Absent), Plan::Fail(fatal));
    let failure = failure(Category::Throttled);
    let unknown = seen(&old, Observed::Unknown(failure.clone()));
    assert_eq!(unknown, Plan::Refuse(Refusal::CouldNotLook(failure)));
    let terminated = seen(&old, Observed::Present(instance(InstanceState::Terminated)));
    let fatal = Fatal::Terminated { id: "i-1".into(), reason: Some("user request".into()) };
    assert_eq!(terminated, Plan::Fail(fatal));
    for state in [InstanceState::Stopped, InstanceState::Terminating] {
        let plan = seen(&old, Observed::Present(instance(state)));
        assert!(matches!(plan, Plan::Record(_)), "{plan}");
    }
}

#[test]
fn obeys_the_creation_timeout_annotation() {
    let timeout = |text| annotation("machinist.dev/creation-timeout", text);
    let cases = [
        ("50s", launched(), Some(Fatal::NotCreatedInTime("50s".to_owned()))),
        ("1m", recorded(), Some(Fatal::NotJoinedInTime("1m".to_owned()))),
        ("1h30m", launched(), None),
        ("soon", launched(), None),
    ];
    for (text, machine, expected) in cases {
        let plan = plan(view(&all(&[machine, timeout(text)])));
        assert_eq!(matches!(plan, Plan::Fail(_)), expected.is_some(), "{text}: {plan}");
        if let Some(fatal) = expected {
            assert_eq!(plan, Plan::Fail(fatal));
        }
    }
    let runs = all(&[recorded(), json!({"status": {"phase": "Running"}}), timeout("1s")]);
    assert_eq!(plan(view(&runs)), Plan::AwaitCloud, "it was created in time, once");
}

#[test]
fn leaves_failed_machines_alone() {
    let failed = json!({"status": {"phase": "Failed"}});
    assert_eq!(plan(view(&failed)), Plan::NoOp(Reason::Failed));
    let had_one = all(&[recorded(), failed]);
    assert!(matches!(plan(view(&had_one)), Plan::Record(_)), "its recorded state becomes Unknown");
    let annotated = all(&[had_one, annotation("machine.openshift.io/instance-state", "Unknown")]);
    assert_eq!(plan(view(&annotated)), Plan::NoOp(Reason::Failed));
}

#[test]
fn waits_while_the_failure_domain_is_closed() {
    let why = failure(Category::CapacityExhausted);
    let wait = Duration::from_secs(3);
    let closed = || Some(Pause { wait, why: why.clone() });
    for machine in [json!({}), launched()] {
        let paused = plan(View { pause: closed(), ..view(&machine) });
        assert_eq!(paused, Plan::Pause(Pause { wait, why: why.clone() }));
    }
}

#[test]
fn an_attempt_waits_for_its_own_place() {
    let launch = json!({"attempt": 1, "zone": "a", "subnet": "s"});
    let prepared =
        json!({"status": {"phase": "Provisioning", "providerStatus": {"launch": launch}}});
    assert_eq!(view(&json!({})).next_place(), None, "nothing is prepared");
    assert_eq!(view(&prepared).next_place().as_deref(), Some("a/s"));
    let refused = |attempt| View { refused_attempt: Some(attempt), ..view(&prepared) };
    assert_eq!(refused(1).next_place(), None, "the next one may go anywhere");
    assert_eq!(refused(7).next_place().as_deref(), Some("a/s"));
    let next = View { observed: Observed::Absent, ..refused(1) };
    assert_eq!(plan(next.clone()), Plan::Prepare { attempt: 2 });
    let (wait, why) = (Duration::from_secs(3), failure(Category::Throttled));
    let pause = Some(Pause { wait, why: why.clone() });
    assert_eq!(plan(View { pause, ..next }), Plan::Pause(Pause { wait, why }));
}

#[test]
fn deletes_in_order() {
    let going = |more: &[Value]| all(&[recorded(), deleting(), all(more)]);
    let drained = conditions(&[("Drained", "True", "Succeeded")]);
    let gone =
        conditions(&[("Drained", "True", ""), ("InstanceExists", "False", REASON_INSTANCE_GONE)]);
    let missing =
        conditions(&[("Drained", "True", ""), ("InstanceExists", "False", "InstanceMissing")]);
    let hook = json!({"spec": {"lifecycleHooks": {"preTerminate": [{"name": "h", "owner": "o"}]}}});
    let plan_of = |patch: &Value| plan(view(patch));

    assert!(matches!(plan_of(&going(&[])), Plan::Drain(_)));
    assert_eq!(plan_of(&going(&[drained.clone(), hook.clone()])), Plan::AwaitHooks);
    assert_eq!(plan_of(&going(std::slice::from_ref(&drained))), Plan::Terminate);
    assert_eq!(
        plan_of(&going(&[missing])),
        Plan::Terminate,
        "what it leaves behind is removed, too"
    );
    assert_eq!(plan_of(&going(std::slice::from_ref(&gone))), Plan::Release);
    let with_node = View { node: Some(node("True")), ..view(&going(&[gone])) };
    assert_eq!(plan(with_node), Plan::RemoveNode(node("True").meta.clone()));
    let free = all(&[deleting(), json!({"metadata": {"finalizers": ["others/f"]}})]);
    assert_eq!(plan_of(&free), Plan::NoOp(Reason::Deleting));
}

#[test]
fn records_an_unrecorded_instance_before_deleting_it() {
    let drained = conditions(&[("Drained", "True", "Skipped")]);
    let going = all(&[launched(), deleting(), drained]);
    let again = |seconds| {
        let retry = Retry::Again(Duration::from_secs(seconds));
        Observed::Unknown(Failure { retry, ..failure(Category::Unavailable) })
    };
    let outage = failure(Category::Unavailable);
    let running = || Observed::Present(instance(InstanceState::Running));
    for (observed, expected) in [
        (Observed::NotAsked, Plan::AwaitCloud),
        (again(3), Plan::Wait(Duration::from_secs(3))),
        (again(600), Plan::Wait(Duration::from_secs(20))),
        (Observed::Unknown(outage.clone()), Plan::Refuse(Refusal::CouldNotLook(outage))),
        (Observed::Absent, Plan::Terminate),
    ] {
        assert_eq!(seen(&going, observed.clone()), expected, "{observed:?}");
    }
    let Plan::Record(patch) = seen(&going, running()) else { panic!("it is not written down") };
    assert_eq!(patch["spec"]["providerID"], "p:///i-1");
    let named = all(&[going, patch]);
    assert_eq!(seen(&named, Observed::NotAsked), Plan::Terminate);
    assert_eq!(seen(&named, running()), Plan::Terminate);
}

#[test]
fn missing_settings_block_a_deletion_only_if_something_may_be_left() {
    let drained = conditions(&[("Drained", "True", "Skipped")]);
    let going = |machine: &Value| plan(view(&all(&[machine.clone(), deleting(), drained.clone()])));
    let unlabelled = json!({"metadata": {"labels": null}});
    let invalid = json!({"spec": {"providerSpec": {"value": {"zone": 7}}}});
    let begun = json!({"status": {"phase": "Deleting"}});
    assert_eq!(going(&all(&[recorded(), unlabelled])), Plan::Terminate);
    assert_eq!(going(&json!({})), Plan::NothingToRemove);
    assert_eq!(going(&all(&[begun.clone(), invalid.clone()])), Plan::NothingToRemove);
    assert_eq!(going(&begun), Plan::Terminate, "another controller may have begun");
    let theirs = json!({"status": {"providerStatus": {"instanceId": "i-1"}}});
    let refused = going(&all(&[begun.clone(), theirs, invalid.clone()]));
    assert!(matches!(refused, Plan::Refuse(_)), "another controller has made one: {refused}");
    let reported = |reason: &str| {
        let list = conditions(&[
            ("Ready", "False", "Unauthorised"),
            ("InstanceExists", "False", reason),
            ("Drained", "True", ""),
        ]);
        plan(view(&all(&[deleting(), json!({"status": {"phase": "Provisioning"}}), list])))
    };
    assert_eq!(reported("InstanceNotRequested"), Plan::NothingToRemove);
    let other = "another controller, or an older version";
    assert_eq!(reported("InstanceNotCreated"), Plan::Terminate, "{other}");
    assert!(matches!(going(&all(&[launched(), invalid.clone()])), Plan::Refuse(_)));
    assert!(matches!(going(&all(&[recorded(), invalid])), Plan::Refuse(_)));
}

#[test]
fn the_authority_comes_first() {
    let obeying_on = |field, wanted: Value, authority: Value| {
        let authorities = json!({"spec": {"authoritativeAPI": wanted}, "status": {"authoritativeAPI": authority}});
        let mut view = view(&all(&[deleting(), authorities]));
        view.rules.obey_migration = true;
        view.rules.authority_field = field;
        plan(view)
    };
    let obeying = |authority| obeying_on(Field::Unknown, json!(null), authority);
    assert_eq!(obeying(json!("ClusterAPI")), Plan::NoOp(Reason::ManagedElsewhere));
    assert_eq!(obeying(json!("Migrating")), Plan::NoOp(Reason::ManagedElsewhere));
    assert_eq!(obeying(json!("Other")), Plan::NoOp(Reason::UnknownAuthority));
    assert_eq!(obeying(json!(null)), Plan::SetAuthority(MachineAuthority::MachineApi));
    let wanted = obeying_on(Field::Unknown, json!("ClusterAPI"), json!(null));
    assert_eq!(wanted, Plan::SetAuthority(MachineAuthority::ClusterApi));
    assert!(matches!(obeying(json!("MachineAPI")), Plan::Drain(_)));
    let odd = obeying_on(Field::Served, json!("Other"), json!(null));
    assert_eq!(odd, Plan::NoOp(Reason::UnknownAuthority));
    // Without the field in the schema there is no other API.
    let stock = |wanted| obeying_on(Field::Dropped, wanted, json!(null));
    assert!(matches!(stock(json!(null)), Plan::Drain(_)));
    assert_eq!(stock(json!("ClusterAPI")), Plan::NoOp(Reason::ManagedElsewhere));
    let view = Err("odd".to_owned());
    let snapshot =
        Snapshot { meta: super::super::samples::view(&json!({})).machine.meta.clone(), view };
    assert_eq!(decide(&snapshot, now()), Plan::NoOp(Reason::Undecodable("odd".to_owned())));
}
