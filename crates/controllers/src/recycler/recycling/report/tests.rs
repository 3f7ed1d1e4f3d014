//! What a pass over a recycle says, for every kind of outcome.

use machinist_api::event_recycler::recycle::RecycleFailure;
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::retry::{Category, Failure};

use super::super::plan::Effect;
use super::super::samples::{after, now, snapshot};
use super::*;

fn base() -> Snapshot {
    snapshot(Strategy::Replace, Step::Replacing, &["i-1", "i-2"])
}

#[test]
fn every_step_and_every_instance_is_told_once() {
    let base = base();
    let mut after = base.recycle.clone();
    after.instances[0].state = InstanceState::Draining;
    after.instances[0].node = Some("n1".to_owned());
    let told = report(&base, &Plan::Store(Box::new(after)), &Outcome::Nothing, now());
    let notes: Vec<_> = told.events.iter().map(|event| event.note.as_str()).collect();
    assert_eq!(notes, ["workers: i-1 (n1) is being drained"]);
    assert_eq!(told.retry, Some(Retry::Again(Duration::ZERO)));

    let ended = Recycle { step: Step::Succeeded, ..base.recycle.clone() };
    let told = report(&base, &Plan::Store(Box::new(ended)), &Outcome::Nothing, now());
    assert_eq!(told.events[0].reason, EventReason::Recycled);
    assert_eq!((told.retry, told.recycle.step), (None, Step::Succeeded));
}

#[test]
fn a_failure_says_why_in_one_word_and_in_many() {
    let base = base();
    let failed = Recycle {
        step: Step::Failed,
        failure: Some(RecycleFailure::DrainTimedOut),
        message: Some("n1 could not be drained".to_owned()),
        ..base.recycle.clone()
    };
    let told = report(&base, &Plan::Store(Box::new(failed)), &Outcome::Nothing, now());
    let event = &told.events[0];
    assert_eq!((event.event_type, event.reason), (EventType::Warning, EventReason::RecycleFailed));
    assert_eq!(event.note, "workers is not recycled (DrainTimedOut): n1 could not be drained");
}

#[test]
fn what_is_waited_for_is_in_the_message_unless_it_says_why_all_this_failed() {
    let mut base = base();
    let wait = Plan::Wait { pause: Duration::from_secs(3), why: "it is slow".to_owned() };
    let told = report(&base, &wait, &Outcome::Nothing, now());
    assert_eq!(told.recycle.message.as_deref(), Some("it is slow"));
    assert_eq!(told.retry, Some(Retry::Again(Duration::from_secs(3))));
    base.recycle.failure = Some(RecycleFailure::TimedOut);
    base.recycle.message = Some("too late".to_owned());
    let told = report(&base, &wait, &Outcome::Nothing, now());
    assert_eq!(told.recycle.message.as_deref(), Some("too late"));
}

#[test]
fn trouble_is_told_and_tried_again_as_it_says() {
    let base = base();
    let failure = |retry| {
        let message = "not allowed".to_owned();
        Outcome::Failed(Failure { category: Category::Unauthorised, retry, message })
    };
    let plan = Plan::Do(Effect::Unmark);
    let pause = Retry::After(Duration::from_secs(77));
    let told = report(&base, &plan, &failure(pause), now());
    assert_eq!(told.trouble.as_deref(), Some("not allowed"));
    assert_eq!(told.retry, Some(pause));
    let told = report(&base, &plan, &Outcome::Overtaken("x".to_owned()), now());
    assert_eq!((told.retry, told.trouble), (Some(Retry::Soon), None));
    let told = report(&base, &plan, &Outcome::Done, now());
    assert_eq!(
        told.retry,
        Some(Retry::Again(base.settings.settle)),
        "a cloud is not asked in the same moment"
    );
    assert_eq!(told.recycle, base.recycle);
}

#[test]
fn whatever_a_group_refuses_is_tried_again_soon_and_then_as_often_as_it_is_looked_at() {
    let base = base();
    let poll = base.settings.poll;
    let sizes = machinist_provider::node_groups::Sizes::ZERO;
    for effect in [
        Effect::Unmark,
        Effect::Mark("text".to_owned()),
        Effect::Resize { from: sizes, to: sizes },
        Effect::CancelRefresh,
    ] {
        let plan = Plan::Do(effect);
        // Auto Scaling calls almost everything a `ValidationError`: nothing but an edit would help, if it were true.
        for (category, retry) in [
            (Category::InvalidConfiguration, Retry::OnChange),
            (Category::Unavailable, Retry::Backoff),
        ] {
            let message = "a scaling activity is in progress".to_owned();
            let failed = Outcome::Failed(Failure { category, retry, message });
            for (seconds, pause) in
                [(0, base.settings.settle), (20, Duration::from_secs(5)), (9999, poll)]
            {
                let told = report(&base, &plan, &failed, after(seconds));
                assert_eq!(told.retry, Some(Retry::Again(pause)), "{plan} after {seconds}");
            }
        }
    }
}
