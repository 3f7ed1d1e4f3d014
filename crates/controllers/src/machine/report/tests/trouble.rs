use machinist_domain::observed::Observed;
use machinist_domain::report::EventType;

use super::super::super::snapshot::Unrepaired;
use super::*;

#[test]
fn reports_and_retries_refused_calls() {
    for (class, reason) in [
        (ErrorClass::CapacityExhausted, "CapacityExhausted"),
        (ErrorClass::Throttled, "Throttled"),
        (ErrorClass::Unauthorised, "Unauthorised"),
        (ErrorClass::Unavailable, "Unavailable"),
        (ErrorClass::NotFound, "NotFound"),
        (ErrorClass::Unexpected, "Unexpected"),
    ] {
        let (report, status) =
            of(&launched(), &tried(Outcome::CallFailed(Call::Create, error(class))));
        assert_eq!(status["phase"], "Provisioning", "{class:?}");
        assert_eq!(condition(&status, "Ready"), format!("False/{reason}"));
        assert_eq!((reasons(&report), report.retry), (vec!["FailedCreate"], Some(Retry::Backoff)));
        assert_eq!(report.result, ReconcileResult::Failed);
    }
    let why = failure(Category::CapacityExhausted);
    let wait = Duration::from_secs(7);
    let (report, status) = of(&json!({}), &done(Plan::Pause(Pause { wait, why })));
    assert_eq!(
        (condition(&status, "Ready").as_str(), report.retry),
        ("False/CapacityExhausted", Some(Retry::Again(wait)))
    );
}

#[test]
fn sets_both_error_fields_of_a_failed_machine() {
    let (report, status) = of(
        &launched(),
        &tried(Outcome::CallFailed(Call::Create, error(ErrorClass::InvalidConfiguration))),
    );
    assert_eq!(status["phase"], "Failed");
    for name in ["errorReason", "failureReason"] {
        assert_eq!(status[name], "InvalidConfiguration");
    }
    for name in ["errorMessage", "failureMessage"] {
        let text = format!("No luck{}", messages::CORRECT_AND_DELETE);
        assert_eq!(status[name], text);
    }
    assert_eq!((reasons(&report), report.retry), (vec!["Failed"], None));
    assert_eq!(condition(&status, "InstanceExists"), "-/-", "a launch is stored, so it is unknown");

    let mut stock = view(&launched());
    stock.rules.failure_fields = Field::Dropped;
    let fatal = done(Plan::Fail(Fatal::InvalidConfiguration("no".to_owned())));
    let status = report_and_status(stock, &object(&launched()), &fatal).1;
    let text = format!("No{}", messages::CORRECT_AND_DELETE);
    assert_eq!((status.get("failureReason"), &status["errorMessage"]), (None, &json!(text)));

    let unclear = CloudError { effect: Effect::Unclear, ..error(ErrorClass::InvalidConfiguration) };
    let status = of(&launched(), &tried(Outcome::CallFailed(Call::Create, unclear))).1;
    assert_eq!(status["phase"], "Provisioning", "an instance may exist");
}

#[test]
fn reports_not_created_only_if_it_is_certain() {
    let none = conditions(&[("InstanceExists", "False", "InstanceNotCreated")]);
    let after = |patch: &Value, class, effect| {
        let step = tried(Outcome::CallFailed(Call::Create, CloudError { effect, ..error(class) }));
        condition(&of(patch, &step).1, "InstanceExists")
    };
    let asked = all(&[launched(), none]);
    for class in [ErrorClass::InvalidConfiguration, ErrorClass::Throttled] {
        assert_eq!(after(&json!({}), class, Effect::None), "False/InstanceNotRequested");
        assert_eq!(
            after(&launched(), class, Effect::None),
            "-/-",
            "an earlier request may be unanswered"
        );
        assert_eq!(after(&asked, class, Effect::Unclear), "Unknown/ErrorCheckingProvider");
        let lost = conditions(&[("InstanceExists", "Unknown", "ErrorCheckingProvider")]);
        let lost = after(&all(&[launched(), lost]), class, Effect::None);
        assert_eq!(lost, "Unknown/ErrorCheckingProvider", "a later refusal does not change it");
    }
    let why = failure(Category::Throttled);
    let paused = done(Plan::Pause(Pause { wait: Duration::from_secs(7), why }));
    assert_eq!(condition(&of(&launched(), &paused).1, "InstanceExists"), "-/-");
    // An instance of a used token may not be visible yet.
    let over = after(&asked, ErrorClass::Unavailable, Effect::NoneForThisAttempt);
    assert_eq!(over, "Unknown/ErrorCheckingProvider", "the instance is looked for first");
    let full = after(&asked, ErrorClass::CapacityExhausted, Effect::NoneForThisAttempt);
    assert_eq!(full, "False/InstanceNotCreated", "a full zone is certain");
    let hopeless = after(&asked, ErrorClass::InvalidConfiguration, Effect::NoneForThisAttempt);
    assert_eq!(hopeless, "False/InstanceNotCreated", "it is final");
}

#[test]
fn reports_an_instance_that_was_not_found() {
    let unknown = conditions(&[("InstanceExists", "Unknown", "ErrorCheckingProvider")]);
    let looked = all(&[launched(), unknown]);
    let after = |step: &Step| {
        let view = View { observed: Observed::Absent, ..view(&looked) };
        condition(&report_and_status(view, &object(&looked), step).1, "InstanceExists")
    };
    let refused = |class| {
        tried(Outcome::CallFailed(
            Call::Create,
            CloudError { effect: Effect::None, ..error(class) },
        ))
    };
    let paused = done(Plan::Pause(Pause {
        wait: Duration::from_secs(7),
        why: failure(Category::Throttled),
    }));
    for step in [paused, refused(ErrorClass::Throttled), refused(ErrorClass::InvalidConfiguration)]
    {
        assert_eq!(after(&step), "False/InstanceNotCreated", "{step:?}");
    }
    assert_eq!(
        after(&tried(Outcome::CallFailed(Call::Create, error(ErrorClass::Unavailable)))),
        "Unknown/ErrorCheckingProvider"
    );
}

#[test]
fn sets_the_state_of_a_missing_instance_to_unknown() {
    let stored = json!({"status": {"providerStatus": {"instanceState": "running"}}});
    let step = done(Plan::Fail(Fatal::Missing(Some("p:///i-1".into()))));
    let (report, status) = of(&all(&[linked(), stored]), &step);
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceMissing");
    assert_eq!(
        status["errorMessage"],
        "Instance p:///i-1 does not exist any more; delete this Machine to replace it"
    );
    assert_eq!(status.get("errorReason"), None);
    assert_eq!(
        status["providerStatus"],
        json!({"instanceState": "Unknown", "launch": {"attempt": 1}})
    );
    assert_eq!(reasons(&report), ["Failed"]);
    let failed = json!({"status": status});
    assert_eq!(of(&failed, &done(Plan::NoOp(Reason::Failed))).0.status, None, "unchanged");
}

#[test]
fn an_unknown_instance_is_not_absent() {
    let unknown = Refusal::CouldNotLook(failure(Category::Unavailable));
    let (report, status) = of(&linked(), &done(Plan::Refuse(unknown)));
    assert_eq!(condition(&status, "InstanceExists"), "Unknown/ErrorCheckingProvider");
    assert_eq!(condition(&status, "Ready"), "False/Unavailable");
    assert_eq!((&status["phase"], report.retry), (&json!("Provisioned"), Some(Retry::Backoff)));
    assert_eq!(reasons(&report), ["ReconcileError"]);
    let (report, status) =
        of(&json!({}), &done(Plan::Refuse(Refusal::BadSpec(SpecError::Missing))));
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceNotRequested");
    assert_eq!(reasons(&report), ["FailedValidate"]);
    assert_eq!(status["phase"], "Provisioning");
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(19 * 60))));
}

#[test]
fn reports_a_failed_repair_and_the_instance() {
    let drifted =
        Instance { drift: Some("tag".to_owned()), ..(*instance(InstanceState::Running)).clone() };
    let view = View {
        observed: Observed::Present(Arc::new(drifted)),
        node: Some(node("True")),
        ..view(&linked())
    };
    let (report, status) = report_and_status(
        view,
        &object(&linked()),
        &tried(Outcome::CallFailed(Call::Update, error(ErrorClass::Throttled))),
    );
    assert_eq!(
        (reasons(&report), condition(&status, "Ready")),
        (vec!["FailedUpdate"], "False/UpdateFailed".to_owned())
    );
    assert_eq!(report.retry, Some(Retry::Backoff));
}

#[test]
fn reports_an_invalid_creation_timeout() {
    let odd = json!({"metadata": {"annotations": {"machinist.dev/creation-timeout": "soon"}}});
    let report = of(&odd, &tried(Outcome::Prepared(launch(1)))).0;
    assert_eq!(reasons(&report), ["FailedValidate"]);
    let undecodable =
        Snapshot { meta: view(&odd).machine.meta.clone(), view: Err("odd".to_owned()) };
    let plan = Plan::NoOp(Reason::Undecodable("odd".to_owned()));
    let report = super::super::report(&undecodable, &plan, &Outcome::Done, now());
    assert_eq!((reasons(&report), report.retry), (vec!["ReconcileError"], Some(Retry::OnChange)));
}

#[test]
fn pauses_between_repairs_of_the_same_drift() {
    let drifted = Arc::new(Instance {
        drift: Some("tag x".to_owned()),
        ..(*instance(InstanceState::Running)).clone()
    });
    let wait = Duration::from_secs(40);
    let seen = |ready: &str, wait| {
        let unrepaired = Some(Unrepaired { wait, why: "it still differs: tag x".into() });
        let view = View { unrepaired, node: Some(node(ready)), ..view(&linked()) };
        report_and_status(view, &object(&linked()), &done(Plan::UpdateStatus(Arc::clone(&drifted))))
    };
    let (report, status) = seen("True", wait);
    assert_eq!(condition(&status, "Ready"), "False/UpdateFailed");
    assert!(message(&status, "Ready").contains("it still differs: tag x"), "{status}");
    assert_eq!(report.retry, Some(Retry::Again(wait)), "the repair is retried");
    let unrepaired = Some(Unrepaired { wait, why: "load balancer lb: none".into() });
    let alone = View { unrepaired, ..view(&recorded()) };
    let status = report_and_status(
        alone,
        &object(&recorded()),
        &done(Plan::UpdateStatus(Arc::clone(&drifted))),
    )
    .1;
    assert_eq!(condition(&status, "Ready"), "False/WaitingForNode");
    assert!(message(&status, "Ready").contains("lb: none"), "{status}");
    let (report, status) = seen("False", wait);
    assert_eq!(condition(&status, "Ready"), "False/NodeNotReady", "this is worse");
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(20))));
    // Not in a loop while the failure domain is closed.
    let (report, _) = seen("True", Duration::ZERO);
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(20))));
    let well = done(Plan::UpdateStatus(instance(InstanceState::Running)));
    let unrepaired = Some(Unrepaired { wait, why: "it still differs".into() });
    let repaired = View { unrepaired, node: Some(node("True")), ..view(&linked()) };
    let (report, status) = report_and_status(repaired, &object(&linked()), &well);
    assert_eq!((condition(&status, "Ready"), report.retry), ("True/-".to_owned(), None));
}

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
    let refused = refusals.into_iter().map(|it| done(Plan::Refuse(it)));
    let refused = refused.chain(unwritten.map(|it| tried(Outcome::Failed(it))));
    let classes = CLASSES.into_iter();
    let not_created =
        classes.clone().map(|class| tried(Outcome::CallFailed(Call::Create, error(class))));
    let not_terminated =
        classes.map(|class| tried(Outcome::CallFailed(Call::Delete, error(class))));
    for step in refused.clone().chain(not_created) {
        let (report, status) = of(&launched(), &step);
        is_told(&step, &report, &status);
    }
    let going = all(&[linked(), deleting()]);
    for step in refused.chain(not_terminated) {
        let (report, status) = of(&going, &step);
        is_told(&step, &report, &status);
    }
}

fn is_told(step: &Step, report: &Report, status: &Value) {
    let ready = condition(status, "Ready");
    assert!(ready.starts_with("False/") && !ready.ends_with("/-"), "{step:?}: {ready}");
    assert!(!message(status, "Ready").is_empty(), "{step:?}");
    let warned = report.events.iter().any(|event| event.event_type == EventType::Warning);
    assert!(warned, "{step:?}: no warning");
}

#[test]
fn stores_what_the_provider_records_about_a_failed_creation() {
    let failed = json!([{"type": "MachineCreation", "status": "False"}]);
    let mut recorded = launch(1);
    recorded.0.insert("conditions".to_owned(), failed.clone());
    for class in [ErrorClass::CapacityExhausted, ErrorClass::InvalidConfiguration] {
        let error = CloudError { status: Some(Box::new(recorded.clone())), ..error(class) };
        let (_, status) = of(&launched(), &tried(Outcome::CallFailed(Call::Create, error)));
        assert_eq!(status["providerStatus"]["conditions"], failed, "{class:?}");
        assert!(status["providerStatus"]["launch"].is_object(), "{status}");
    }
}

#[test]
fn a_launch_that_fails_for_good_keeps_no_state_of_an_earlier_instance() {
    let mut recorded = launch(1);
    recorded.0.insert("instanceState".to_owned(), json!("pending"));
    let stored = json!({"status": {"providerStatus": {"instanceState": "pending"}}});
    for status in [None, Some(Box::new(recorded))] {
        let error = CloudError { status, ..error(ErrorClass::InvalidConfiguration) };
        let step = tried(Outcome::CallFailed(Call::Create, error));
        let (_, status) = of(&all(&[launched(), stored.clone()]), &step);
        assert_eq!(status["phase"], "Failed");
        assert_eq!(status["providerStatus"]["instanceState"], "Unknown", "{step:?}");
        assert!(status["providerStatus"]["launch"].is_object(), "{status}");
    }
}

#[test]
fn whatever_blocks_a_machine_it_has_a_phase_and_is_known_to_be_untouched() {
    let refusals = [
        Refusal::NoClusterLabel,
        Refusal::BadSpec(SpecError::Missing),
        Refusal::NoSecret(ObjectKey::new("ns", "s")),
        Refusal::NotFoundOut(failure(Category::Unavailable)),
        Refusal::CouldNotLook(failure(Category::Unavailable)),
    ];
    let refused = refusals.into_iter().map(|refusal| done(Plan::Refuse(refusal)));
    for step in refused.chain([tried(Outcome::Failed(failure(Category::Unauthorised)))]) {
        let (_, status) = of(&json!({}), &step);
        assert_eq!(status["phase"], "Provisioning", "{step:?}");
        assert!(view(&json!({"status": status})).is_untouched(), "{step:?}");
    }
    let elsewhere = done(Plan::NoOp(Reason::ManagedElsewhere));
    assert_eq!(of(&json!({}), &elsewhere).1.get("phase"), None);
}

#[test]
fn warns_about_a_node_that_was_deleted_on_the_second_look() {
    let running = all(&[linked(), json!({"status": {"phase": "Running"}})]);
    let seen = done(Plan::UpdateStatus(instance(InstanceState::Running)));
    let (first, status) = of(&running, &seen);
    assert_eq!(condition(&status, "Ready"), "False/NodeMissing");
    assert_eq!(reasons(&first), Vec::<&str>::new(), "the Node may be newer than the cache");
    let second = of(&all(&[running, json!({"status": status})]), &seen).0;
    assert_eq!((reasons(&second), second.status), (vec!["NodeMissing"], None));
    assert_eq!(second.events[0].event_type, EventType::Warning);
}

#[test]
fn an_invalid_drain_timeout_is_an_event_and_never_forces() {
    let annotated = |text: &str| {
        let annotations = json!({"annotations": {"machinist.dev/drain-timeout": text}});
        all(&[deleting(), json!({"metadata": annotations})])
    };
    let limit = |text: &str| view(&annotated(text)).drain.unwrap().subject.limit;
    assert_eq!(limit("30m"), drain::Limit::Own(drain::Timeout(Some(Duration::from_secs(1800)))));
    assert_eq!(limit("soon"), drain::Limit::Invalid("soon".into()));
    let notes = |text: &str| {
        let report =
            report(&snapshot(view(&annotated(text))), &Plan::AwaitHooks, &Outcome::Done, now());
        let events = report.events.into_iter();
        events.map(|event| (event.reason.as_str(), event.note)).collect::<Vec<_>>()
    };
    assert_eq!(notes("never"), vec![]);
    let text = "Annotation machinist.dev/drain-timeout must be a duration such as 30m, or never (got \"soon\")";
    assert_eq!(notes("soon"), vec![("FailedValidate", text.to_owned())]);
}
