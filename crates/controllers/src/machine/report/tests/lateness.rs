use super::*;

#[test]
fn reports_a_late_creation_beside_its_reason() {
    let old = json!({"metadata": {"creationTimestamp": "2026-06-01T11:00:00Z"}});
    let late = all(&[launched(), old.clone()]);
    let (report, status) =
        of(&late, &tried(Outcome::CallFailed(Call::Create, error(ErrorClass::CapacityExhausted))));
    assert_eq!(condition(&status, "Ready"), "False/CapacityExhausted");
    let text = "No luck (not running after 20m; creation continues)";
    assert_eq!(message(&status, "Ready"), text);
    assert_eq!(reasons(&report), ["CreationTimedOut", "FailedCreate"]);
    let note = "Not running after 20m; creation continues; see condition Ready (CapacityExhausted)";
    assert_eq!(report.events[0].note, note);
    assert_eq!((&status["phase"], report.retry), (&json!("Provisioning"), Some(Retry::Backoff)));

    let failing = all(&[late, json!({"status": status})]);
    let again = of(
        &failing,
        &tried(Outcome::CallFailed(Call::Create, error(ErrorClass::CapacityExhausted))),
    )
    .0;
    assert_eq!((again.events, again.status), (report.events, None), "the same Events again");
    let (_, status) = of(&failing, &tried(Outcome::Prepared(launch(2))));
    assert_eq!(message(&status, "Ready"), text, "a new attempt does not hide the error");
    let refused = done(Plan::Refuse(Refusal::NoSecret(ObjectKey::new("ns", "s"))));
    let (_, status) = of(&old, &refused);
    assert_eq!(
        condition(&status, "Ready"),
        "False/InvalidConfiguration",
        "also before the cloud is called"
    );
    let joining = of(
        &all(&[recorded(), old.clone()]),
        &done(Plan::UpdateStatus(instance(InstanceState::Running))),
    )
    .1;
    assert_eq!(condition(&joining, "Ready"), "False/WaitingForNode");
    let ready = View { node: Some(node("True")), ..view(&all(&[linked(), old.clone()])) };
    let seen = done(Plan::UpdateStatus(instance(InstanceState::Running)));
    let status = reported(ready, &seen, now()).status.unwrap();
    assert_eq!(condition(&status, "Ready"), "True/-");
}

#[test]
fn requeues_at_the_earlier_creation_limit() {
    let limit =
        |text: &str| json!({"metadata": {"annotations": {"machinist.dev/creation-timeout": text}}});
    let alarm = |patch: &Value, age: u64| {
        let created = view(patch).machine.created;
        let then = created + Duration::from_secs(age);
        reported(view(patch), &done(Plan::AddFinalizer), then).retry
    };
    let in_seconds = |seconds| Some(Retry::Again(Duration::from_secs(seconds)));
    let usual = view(&json!({})).rules.timings.creation.as_secs();
    assert_eq!(alarm(&json!({}), 60), in_seconds(usual - 60));
    assert_eq!(alarm(&limit("5m"), 60), in_seconds(240));
    assert_eq!(alarm(&limit("48h"), 60), in_seconds(usual - 60));
    assert_eq!(alarm(&limit("48h"), usual + 60), in_seconds(48 * 3600 - usual - 60));
    assert_eq!(alarm(&limit("5m"), 400), in_seconds(usual - 400));
    assert_eq!(
        alarm(&all(&[limit("5m"), linked(), json!({"status": {"phase": "Running"}})]), 60),
        None
    );
    let waits = all(&[launched(), limit("48h")]);
    let then = view(&waits).machine.created + Duration::from_secs(usual + 60);
    let step = tried(Outcome::CallFailed(Call::Create, error(ErrorClass::CapacityExhausted)));
    let status = reported(view(&waits), &step, then).status.unwrap();
    assert!(message(&status, "Ready").contains("not running after 20m"), "{status}");
}

/// Whichever step fails, also before the first cloud call.
#[test]
fn reports_a_late_creation_whatever_blocks_it() {
    let old = json!({"metadata": {"creationTimestamp": "2026-06-01T11:00:00Z"}});
    let no_secret = Refusal::NoSecret(ObjectKey::new("ns", "s"));
    let refusals = [
        Refusal::NoClusterLabel,
        Refusal::BadSpec(SpecError::Missing),
        no_secret,
        Refusal::NotFoundOut(failure(Category::Unavailable)),
        Refusal::CouldNotLook(failure(Category::Unavailable)),
    ];
    let classes = CLASSES.into_iter();
    let transient = classes.filter(|class| *class != ErrorClass::InvalidConfiguration);
    let wait = Duration::from_secs(3);
    let steps = [
        tried(Outcome::Failed(failure(Category::Unauthorised))),
        done(Plan::Pause(Pause { wait, why: failure(Category::CapacityExhausted) })),
        tried(Outcome::Prepared(launch(2))),
        done(Plan::UpdateStatus(instance(InstanceState::Pending))),
        done(Plan::UpdateStatus(instance(InstanceState::Running))),
    ];
    let steps = steps.into_iter().chain(refusals.map(|it| done(Plan::Refuse(it))));
    for step in
        steps.chain(transient.map(|class| tried(Outcome::CallFailed(Call::Create, error(class)))))
    {
        for begun in [json!({}), launched()] {
            let (report, status) = of(&all(&[begun, old.clone()]), &step);
            let text = message(&status, "Ready");
            assert!(text.contains("(not running after 20m; creation continues)"), "{step:?}");
            assert_ne!(condition(&status, "Ready"), "False/CreationTimedOut", "{step:?}");
            assert!(reasons(&report).contains(&"CreationTimedOut"), "{step:?}");
            assert!(matches!(status["phase"].as_str(), Some("Provisioning" | "Provisioned")));
        }
    }
}
