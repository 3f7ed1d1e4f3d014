//! What is told of a creation that takes too long.

use super::*;

#[test]
fn a_creation_that_takes_too_long_says_so_once_with_the_last_error_and_goes_on() {
    let old = json!({"metadata": {"creationTimestamp": "2026-06-01T11:00:00Z"}});
    let late = all(&[launched(), old.clone()]);
    let (report, status) = of(&late, &Outcome::NotCreated(error(ErrorClass::CapacityExhausted)));
    assert_eq!(condition(&status, "Ready"), "False/CreationTimedOut");
    assert_eq!(message(&status, "Ready"), "not running after 20m, and still trying: no luck");
    assert_eq!(reasons(&report), ["CreationTimedOut", "FailedCreate"]);
    assert_eq!((&status["phase"], report.retry), (&json!("Provisioning"), Some(Retry::Backoff)));

    let told = all(&[late, json!({"status": status})]);
    let again = of(&told, &Outcome::NotCreated(error(ErrorClass::CapacityExhausted))).0;
    assert_eq!((reasons(&again), again.status), (vec!["FailedCreate"], None));
    let (_, status) = of(&told, &Outcome::Prepared(launch(2)));
    assert!(message(&status, "Ready").ends_with("no luck"), "another attempt is no news");
    let refused = Outcome::Refused(Refusal::NoSecret(ObjectKey::new("ns", "s")));
    let (_, status) = of(&old, &refused);
    assert_eq!(
        condition(&status, "Ready"),
        "False/CreationTimedOut",
        "also before the cloud is called"
    );
    let joining =
        of(&all(&[recorded(), old.clone()]), &Outcome::Seen(instance(InstanceState::Running))).1;
    assert_eq!(condition(&joining, "Ready"), "False/CreationTimedOut");
    let ready = View { node: Some(node("True")), ..view(&all(&[linked(), old.clone()])) };
    let seen = Outcome::Seen(instance(InstanceState::Running));
    let status = super::super::report(&snapshot(ready), &seen, now()).status.unwrap();
    assert_eq!(condition(&status, "Ready"), "True/-");
}

#[test]
fn whichever_limit_of_a_creation_is_over_first_brings_it_back() {
    let limit =
        |text: &str| json!({"metadata": {"annotations": {"machinist.dev/creation-timeout": text}}});
    let alarm = |patch: &Value, age: u64| {
        let created = view(patch).machine.created;
        let then = created + Duration::from_secs(age);
        super::report(&snapshot(view(patch)), &Outcome::Done, then).retry
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
    // That it is late by the usual measure is said, however long it may take by its own.
    let waits = all(&[launched(), limit("48h")]);
    let then = view(&waits).machine.created + Duration::from_secs(usual + 60);
    let outcome = Outcome::NotCreated(error(ErrorClass::CapacityExhausted));
    let status = super::report(&snapshot(view(&waits)), &outcome, then).status.unwrap();
    assert_eq!(condition(&status, "Ready"), "False/CreationTimedOut");
}

/// Invariant (c): whichever step does not get on, and also before a cloud was ever asked, people are told when it takes too long.
#[test]
fn whatever_is_in_the_way_of_a_creation_it_is_told_when_it_takes_too_long() {
    let old = json!({"metadata": {"creationTimestamp": "2026-06-01T11:00:00Z"}});
    let no_secret = Refusal::NoSecret(ObjectKey::new("ns", "s"));
    let refusals = [
        Refusal::NoClusterLabel,
        Refusal::BadSpec(SpecError::Missing),
        no_secret,
        Refusal::NotFoundOut(failure(Category::Unavailable)),
        Refusal::CouldNotLook(failure(Category::Unavailable)),
    ];
    let classes = ErrorClass::ALL.into_iter();
    let mendable = classes.filter(|class| *class != ErrorClass::InvalidConfiguration);
    let wait = Duration::from_secs(3);
    let steps = [
        Outcome::Failed(failure(Category::Unauthorised)),
        Outcome::Paused { wait, why: failure(Category::CapacityExhausted) },
        Outcome::Prepared(launch(2)),
        Outcome::Seen(instance(InstanceState::Pending)),
        Outcome::Seen(instance(InstanceState::Running)),
    ];
    let steps = steps.into_iter().chain(refusals.map(Outcome::Refused));
    for outcome in steps.chain(mendable.map(|class| Outcome::NotCreated(error(class)))) {
        for begun in [json!({}), launched()] {
            let (report, status) = of(&all(&[begun, old.clone()]), &outcome);
            assert_eq!(condition(&status, "Ready"), "False/CreationTimedOut", "{outcome:?}");
            assert!(reasons(&report).contains(&"CreationTimedOut"), "{outcome:?}");
            assert_ne!(status["phase"], "Failed", "creation goes on");
        }
    }
}
