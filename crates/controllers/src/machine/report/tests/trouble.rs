//! What is told when something is in the way, and what when it is in the way for good.

use super::super::super::snapshot::Unrepaired;
use super::*;

#[test]
fn what_the_cloud_refuses_is_said_and_tried_again() {
    for (class, reason) in [
        (ErrorClass::CapacityExhausted, "CapacityExhausted"),
        (ErrorClass::Throttled, "Throttled"),
        (ErrorClass::Unauthorised, "Unauthorised"),
        (ErrorClass::Unavailable, "Unavailable"),
        (ErrorClass::NotFound, "NotFound"),
        (ErrorClass::Unknown, "Unexpected"),
    ] {
        let (report, status) = of(&launched(), &Outcome::NotCreated(error(class)));
        assert_eq!(status["phase"], "Provisioning", "{class:?}");
        assert_eq!(condition(&status, "Ready"), format!("False/{reason}"));
        assert_eq!((reasons(&report), report.retry), (vec!["FailedCreate"], Some(Retry::Backoff)));
        assert_eq!(report.result, PassResult::Failed);
    }
    let why = failure(Category::CapacityExhausted);
    let wait = Duration::from_secs(7);
    let (report, status) = of(&json!({}), &Outcome::Paused { wait, why });
    assert_eq!(
        (condition(&status, "Ready").as_str(), report.retry),
        ("False/CapacityExhausted", Some(Retry::Again(wait)))
    );
}

#[test]
fn what_can_never_work_fails_in_both_places_where_people_look() {
    let (report, status) =
        of(&launched(), &Outcome::NotCreated(error(ErrorClass::InvalidConfiguration)));
    assert_eq!(status["phase"], "Failed");
    for name in ["errorReason", "failureReason"] {
        assert_eq!(status[name], "InvalidConfiguration");
    }
    for name in ["errorMessage", "failureMessage"] {
        assert_eq!(status[name], "no luck");
    }
    assert_eq!((reasons(&report), report.retry), (vec!["Failed"], None));
    assert_eq!(condition(&status, "InstanceExists"), "-/-", "an attempt is stored: nobody knows");

    let mut stock = view(&launched());
    stock.rules.failure_fields = Field::Dropped;
    let fatal = Outcome::GivenUp(Fatal::InvalidConfiguration("no".to_owned()));
    let status = told(stock, &object(&launched()), &fatal).1;
    assert_eq!((status.get("failureReason"), &status["errorMessage"]), (None, &json!("no")));

    let unclear = CloudError { effect: Effect::Unclear, ..error(ErrorClass::InvalidConfiguration) };
    let status = of(&launched(), &Outcome::NotCreated(unclear)).1;
    assert_eq!(status["phase"], "Provisioning", "something may have come of it");
}

#[test]
fn that_nothing_was_created_is_said_only_where_it_is_known() {
    let none = conditions(&[("InstanceExists", "False", "InstanceNotCreated")]);
    let after = |patch: &Value, class, effect| {
        let outcome = Outcome::NotCreated(CloudError { effect, ..error(class) });
        condition(&of(patch, &outcome).1, "InstanceExists")
    };
    let asked = all(&[launched(), none]);
    for class in [ErrorClass::InvalidConfiguration, ErrorClass::Throttled] {
        assert_eq!(after(&json!({}), class, Effect::None), "False/InstanceNotCreated");
        assert_eq!(after(&launched(), class, Effect::None), "-/-", "an answer may have been lost");
        assert_eq!(after(&asked, class, Effect::Unclear), "Unknown/ErrorCheckingProvider");
        let lost = conditions(&[("InstanceExists", "Unknown", "ErrorCheckingProvider")]);
        let lost = after(&all(&[launched(), lost]), class, Effect::None);
        assert_eq!(lost, "Unknown/ErrorCheckingProvider", "a later refusal does not undo it");
    }
    let why = failure(Category::Throttled);
    let paused = Outcome::Paused { wait: Duration::from_secs(7), why };
    assert_eq!(condition(&of(&launched(), &paused).1, "InstanceExists"), "-/-");
    // A token that was used up may have made one that is not shown yet.
    let over = after(&asked, ErrorClass::Unavailable, Effect::NoneForThisAttempt);
    assert_eq!(over, "Unknown/ErrorCheckingProvider", "it is looked for first");
    let full = after(&asked, ErrorClass::CapacityExhausted, Effect::NoneForThisAttempt);
    assert_eq!(full, "False/InstanceNotCreated", "zones that are full are no doubt");
    let hopeless = after(&asked, ErrorClass::InvalidConfiguration, Effect::NoneForThisAttempt);
    assert_eq!(hopeless, "False/InstanceNotCreated", "nobody looks any more");
}

#[test]
fn that_an_instance_was_looked_for_in_vain_is_said() {
    let unknown = conditions(&[("InstanceExists", "Unknown", "ErrorCheckingProvider")]);
    let looked = all(&[launched(), unknown]);
    let after = |outcome: &Outcome| {
        let view = View { sighting: Sighting::Absent, ..view(&looked) };
        condition(&told(view, &object(&looked), outcome).1, "InstanceExists")
    };
    let refused = |class| Outcome::NotCreated(CloudError { effect: Effect::None, ..error(class) });
    let paused =
        Outcome::Paused { wait: Duration::from_secs(7), why: failure(Category::Throttled) };
    for outcome in
        [paused, refused(ErrorClass::Throttled), refused(ErrorClass::InvalidConfiguration)]
    {
        assert_eq!(after(&outcome), "False/InstanceNotCreated", "{outcome:?}");
    }
    assert_eq!(
        after(&Outcome::NotCreated(error(ErrorClass::Unavailable))),
        "Unknown/ErrorCheckingProvider"
    );
}

#[test]
fn an_instance_that_vanished_leaves_no_state_behind() {
    let stored = json!({"status": {"providerStatus": {"instanceState": "running"}}});
    let outcome = Outcome::GivenUp(Fatal::Vanished(" p:///i-1".to_owned()));
    let (report, status) = of(&all(&[linked(), stored]), &outcome);
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceMissing");
    assert_eq!(status["errorMessage"], "can't find created instance p:///i-1");
    assert_eq!(status.get("errorReason"), None);
    assert_eq!(
        status["providerStatus"],
        json!({"instanceState": "Unknown", "launch": {"attempt": 1}})
    );
    assert_eq!(reasons(&report), ["Failed"]);
    let failed = json!({"status": status});
    assert_eq!(of(&failed, &Outcome::Left(Leave::Failed)).0.status, None, "and it stays like this");
}

#[test]
fn that_nobody_could_be_asked_is_not_absence() {
    let unknown = Refusal::CouldNotLook(failure(Category::Unavailable));
    let (report, status) = of(&linked(), &Outcome::Refused(unknown));
    assert_eq!(condition(&status, "InstanceExists"), "Unknown/ErrorCheckingProvider");
    assert_eq!(condition(&status, "Ready"), "False/Unavailable");
    assert_eq!((&status["phase"], report.retry), (&json!("Provisioned"), Some(Retry::Backoff)));
    assert_eq!(reasons(&report), ["ReconcileError"]);
    let (report, status) = of(&json!({}), &Outcome::Refused(Refusal::BadSpec(SpecError::Missing)));
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceNotCreated");
    assert_eq!(reasons(&report), ["FailedValidate"]);
    assert_eq!(status.get("phase"), None);
    // An edit brings it back; that its time is over does not, so somebody has to look.
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(19 * 60))));
}

#[test]
fn what_was_not_repaired_is_said_and_the_instance_is_shown_all_the_same() {
    let drifted =
        Instance { drift: Some("tag".to_owned()), ..(*instance(InstanceState::Running)).clone() };
    let view = View {
        sighting: Sighting::Present(Arc::new(drifted)),
        node: Some(node("True")),
        ..view(&linked())
    };
    let (report, status) =
        told(view, &object(&linked()), &Outcome::NotRepaired(error(ErrorClass::Throttled)));
    assert_eq!(
        (reasons(&report), condition(&status, "Ready")),
        (vec!["FailedUpdate"], "False/UpdateFailed".to_owned())
    );
    assert_eq!(report.retry, Some(Retry::Backoff));
}

#[test]
fn a_duration_that_is_none_is_named() {
    let odd = json!({"metadata": {"annotations": {"machinist.dev/creation-timeout": "soon"}}});
    let report = of(&odd, &Outcome::Prepared(launch(1))).0;
    assert_eq!(reasons(&report), ["FailedValidate"]);
    let undecodable = Snapshot {
        meta: view(&odd).machine.meta.clone(),
        content: Content::Undecodable("odd".to_owned()),
    };
    let report = super::report(&undecodable, &Outcome::Done, now());
    assert_eq!((reasons(&report), report.retry), (vec!["ReconcileError"], Some(Retry::OnChange)));
}

#[test]
fn what_is_to_be_repaired_again_and_again_is_said_once_and_has_time() {
    let drifted = Arc::new(Instance {
        drift: Some("tag x".to_owned()),
        ..(*instance(InstanceState::Running)).clone()
    });
    let wait = Duration::from_secs(40);
    let seen = |ready: &str, wait| {
        let unrepaired = Some(Unrepaired { wait, why: "it still differs: tag x".into() });
        let view = View { unrepaired, node: Some(node(ready)), ..view(&linked()) };
        told(view, &object(&linked()), &Outcome::Seen(Arc::clone(&drifted)))
    };
    let (report, status) = seen("True", wait);
    assert_eq!(condition(&status, "Ready"), "False/UpdateFailed");
    assert!(message(&status, "Ready").contains("it still differs: tag x"), "{status}");
    assert_eq!(report.retry, Some(Retry::Again(wait)), "nobody else would try again");
    let unrepaired = Some(Unrepaired { wait, why: "load balancer lb: none".into() });
    let alone = View { unrepaired, ..view(&recorded()) };
    let status = told(alone, &object(&recorded()), &Outcome::Seen(Arc::clone(&drifted))).1;
    assert_eq!(condition(&status, "Ready"), "False/WaitingForNode");
    assert!(message(&status, "Ready").contains("lb: none"), "that may be why: {status}");
    let (report, status) = seen("False", wait);
    assert_eq!(condition(&status, "Ready"), "False/NodeNotReady", "that matters more");
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(20))));
    // It may be tried, but machines like this one pause: not in a loop.
    let (report, _) = seen("True", Duration::ZERO);
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(20))));
    let well = Outcome::Seen(instance(InstanceState::Running));
    let unrepaired = Some(Unrepaired { wait, why: "it still differs".into() });
    let mended = View { unrepaired, node: Some(node("True")), ..view(&linked()) };
    let (report, status) = told(mended, &object(&linked()), &well);
    assert_eq!((condition(&status, "Ready"), report.retry), ("True/-".to_owned(), None));
}

/// Invariant (j): whatever is not done, and why, is on the object and in an Event.
#[test]
fn every_refusal_is_a_condition_and_an_event() {
    let spec = SpecError::Invalid { reason: "zone is missing".to_owned() };
    let refusals = [
        Refusal::NoClusterLabel,
        Refusal::BadSpec(SpecError::Missing),
        Refusal::BadSpec(spec),
        Refusal::NoSecret(ObjectKey::new("ns", "s")),
        Refusal::NotFoundOut(failure(Category::Unavailable)),
        Refusal::CouldNotLook(failure(Category::Throttled)),
    ];
    let unwritten =
        [Category::InvalidConfiguration, Category::Unauthorised, Category::Unexpected].map(failure);
    let refused = refusals.into_iter().map(Outcome::Refused);
    let refused = refused.chain(unwritten.map(Outcome::Failed));
    let classes = ErrorClass::ALL.into_iter();
    let not_created = classes.clone().map(|class| Outcome::NotCreated(error(class)));
    let not_terminated = classes.map(|class| Outcome::NotTerminated(error(class)));
    for outcome in refused.clone().chain(not_created) {
        let (report, status) = of(&launched(), &outcome);
        is_told(&outcome, &report, &status);
    }
    let going = all(&[linked(), deleting()]);
    for outcome in refused.chain(not_terminated) {
        let (report, status) = of(&going, &outcome);
        is_told(&outcome, &report, &status);
    }
}

fn is_told(outcome: &Outcome, report: &Report, status: &Value) {
    let ready = condition(status, "Ready");
    assert!(ready.starts_with("False/") && !ready.ends_with("/-"), "{outcome:?}: {ready}");
    assert!(!message(status, "Ready").is_empty(), "{outcome:?}");
    let warned = report.events.iter().any(|event| event.event_type == EventType::Warning);
    assert!(warned, "{outcome:?}: no warning");
}
