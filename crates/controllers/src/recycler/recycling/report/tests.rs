use machinist_api::event_recycler::recycle::RecycleFailure;
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::report::EventType;
use machinist_domain::retry::{Category, Failure};

use super::super::decide::decide;
use super::super::samples::{after, drain_view, now, snapshot, without_drains};
use super::*;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::GroupChange;

fn base() -> Snapshot {
    snapshot(Strategy::Replace, Step::Replacing, &["i-1", "i-2"])
}

fn stored(recycle: Recycle) -> Plan {
    without_drains(Action::Store(Box::new(recycle)))
}

#[test]
fn every_step_and_instance_has_one_event() {
    let base = base();
    let mut after = base.recycle.clone();
    after.instances[0].state = InstanceState::Draining;
    after.instances[0].node = Some("n1".to_owned());
    let reported = report(&base, &stored(after), &Outcome::Nothing, now());
    let notes: Vec<_> = reported.events.iter().map(|event| event.note.as_str()).collect();
    assert_eq!(notes, ["Draining node n1 of instance i-1 in workers"]);
    assert_eq!(reported.retry, Some(Retry::Again(Duration::ZERO)));

    let ended = Recycle { step: Step::Succeeded, ..base.recycle.clone() };
    let reported = report(&base, &stored(ended), &Outcome::Nothing, now());
    assert_eq!(reported.events[0].reason, EventReason::Recycled);
    assert_eq!((reported.retry, reported.recycle.step), (None, Step::Succeeded));
}

#[test]
fn a_failure_has_a_reason_and_a_message() {
    let base = base();
    let failed = Recycle {
        step: Step::Failed,
        failure: Some(RecycleFailure::DrainTimedOut),
        message: Some("n1 could not be drained".to_owned()),
        ..base.recycle.clone()
    };
    let reported = report(&base, &stored(failed), &Outcome::Nothing, now());
    let event = &reported.events[0];
    assert_eq!((event.event_type, event.reason), (EventType::Warning, EventReason::RecycleFailed));
    assert_eq!(event.note, "Recycle of workers failed (DrainTimedOut): n1 could not be drained");
}

#[test]
fn the_message_has_what_is_waited_for_unless_it_has_the_failure() {
    let mut base = base();
    let (pause, why) = (Duration::from_secs(3), "it is slow".to_owned());
    let wait = without_drains(Action::Wait { pause, why });
    let reported = report(&base, &wait, &Outcome::Nothing, now());
    assert_eq!(reported.recycle.message.as_deref(), Some("it is slow"));
    assert_eq!(reported.retry, Some(Retry::Again(Duration::from_secs(3))));
    base.recycle.failure = Some(RecycleFailure::TimedOut);
    base.recycle.message = Some("too late".to_owned());
    let reported = report(&base, &wait, &Outcome::Nothing, now());
    assert_eq!(reported.recycle.message.as_deref(), Some("too late"));
}

#[test]
fn trouble_is_reported_and_retried() {
    let base = base();
    let failure = |retry| {
        let message = "not allowed".to_owned();
        Outcome::Failed(Failure { category: Category::Unauthorised, retry, message })
    };
    let plan = without_drains(Action::Change(GroupChange::Unmark));
    let pause = Retry::After(Duration::from_secs(77));
    let reported = report(&base, &plan, &failure(pause), now());
    assert_eq!(reported.trouble.as_deref(), Some("not allowed"));
    assert_eq!(reported.retry, Some(pause));
    let reported = report(&base, &plan, &Outcome::Outdated, now());
    assert_eq!((reported.retry, reported.trouble), (Some(Retry::Soon), None));
    let reported = report(&base, &plan, &Outcome::Done, now());
    assert_eq!(
        reported.retry,
        Some(Retry::Again(base.settings.settle)),
        "the cloud has time to settle"
    );
    assert_eq!(reported.recycle, base.recycle);
}

#[test]
fn a_rejected_change_is_retried_soon_and_then_with_every_poll() {
    let base = base();
    let poll = base.settings.poll;
    let sizes = machinist_provider::node_groups::Sizes::ZERO;
    for effect in [
        GroupChange::Unmark,
        GroupChange::Mark("text".to_owned()),
        GroupChange::Resize { from: sizes, to: sizes },
        GroupChange::CancelRefresh,
    ] {
        let plan = without_drains(Action::Change(effect));
        // Auto Scaling reports most rejections as `ValidationError`, which is not an error of the spec.
        for (category, retry) in [
            (Category::InvalidConfiguration, Retry::OnChange),
            (Category::Unavailable, Retry::Backoff),
        ] {
            let message = "a scaling activity is in progress".to_owned();
            let failed = Outcome::Failed(Failure { category, retry, message });
            for (seconds, pause) in
                [(0, base.settings.settle), (20, Duration::from_secs(5)), (9999, poll)]
            {
                let reported = report(&base, &plan, &failed, after(seconds));
                assert_eq!(reported.retry, Some(Retry::Again(pause)), "{plan} after {seconds}");
            }
        }
    }
}

#[test]
fn a_wait_reports_what_its_drains_wait_for() {
    let mut base = base();
    base.recycle.instances[0].state = InstanceState::Draining;
    drain_view(&mut base, "i-1", Vec::new());
    for view in base.drains.values_mut() {
        view.volumes = Observed::Present(vec!["pv-1".into()]);
    }
    let plan = decide(&base, now());
    assert!(matches!(plan.action, Action::Wait { .. }), "{plan}");
    let message = report(&base, &plan, &Outcome::Nothing, now()).recycle.message.unwrap();
    assert!(message.starts_with("node-of-i-1: ") && message.contains("pv-1"), "{message}");
}
