use std::cell::Cell;
use std::time::Duration;

use machinist_runtime::clock::ManualClock;

use super::super::{samples, tests};
use super::*;
use crate::test_process;

fn failure(message: String) -> Failure {
    Failure { category: Category::Unavailable, retry: Retry::Backoff, message }
}

#[tokio::test(start_paused = true)]
async fn results_are_in_the_order_of_the_items() {
    for waits in [[3, 1, 2], [1, 3, 2], [2, 3, 1]] {
        let items = (0..3).map(|at| (at, Duration::from_secs(waits[at]))).collect();
        let writes = concurrently(3, items, |(at, wait): (usize, Duration)| async move {
            tokio::time::sleep(wait).await;
            Write::Failed(failure(format!("number {at}")))
        });
        let messages: Vec<_> = writes
            .await
            .into_iter()
            .map(|write| match write {
                Write::Failed(failure) => failure.message,
                _ => String::new(),
            })
            .collect();
        let expected: Vec<_> = (0..3).map(|at| format!("number {at}")).collect();
        assert_eq!(messages, expected, "answers after {waits:?} seconds");
    }
}

#[tokio::test(start_paused = true)]
async fn starts_nothing_after_a_failure_and_waits_for_what_was_started() {
    let (running, most) = (Cell::new(0), Cell::new(0));
    let (running, most) = (&running, &most);
    let writes = concurrently(4, (0..100).collect(), |number: u64| async move {
        running.set(running.get() + 1);
        most.set(most.get().max(running.get()));
        tokio::time::sleep(Duration::from_secs(1 + number % 3)).await;
        running.set(running.get() - 1);
        if number == 20 { Write::Failed(failure(String::new())) } else { Write::Skipped }
    })
    .await;
    assert_eq!((most.get(), running.get()), (4, 0));
    // Number 20 takes three seconds, in which each of the other three may start up to three more.
    assert!((21..=33).contains(&writes.len()), "{} were started", writes.len());
}

#[tokio::test]
async fn pauses_after_refused_claims_double() {
    let clock = Arc::<ManualClock>::default();
    let (controller, shared) = (tests::controller(&clock), test_process::shared(None, &clock));
    let machine = samples::machine("m", &json!({}));
    let set = samples::snapshot(samples::view(&samples::set(), Vec::new())).meta;
    let (plan, writer) = (Plan::List, test_process::writer(&shared));
    let executor = Executor { controller: &controller, set: &set, plan: &plan, writer: &writer };
    let pauses = [(); 4].map(|()| {
        let now = controller.clock.uptime();
        executor.skip_after(&failure("forbidden".to_owned()), &machine.meta);
        let claims = controller.failed_claims.lock();
        let pause = claims.get(&machine.meta.uid, now).unwrap().retry_at.saturating_sub(now);
        clock.advance(pause);
        pause.as_secs()
    });
    assert_eq!(pauses, [2, 4, 8, 16]);
}

/// While Machines are kept, users may ask to keep others, too.
#[tokio::test]
async fn a_list_does_not_outlive_a_preservation_that_keeps_a_set_from_scaling_down() {
    let clock = Arc::<ManualClock>::default();
    let (controller, shared) = (tests::controller(&clock), test_process::shared(None, &clock));
    let writer = test_process::writer(&shared);
    let snapshot = samples::snapshot(samples::view(&samples::set(), Vec::new()));
    let uid = &snapshot.meta.uid;
    for (reason, serves) in [(Reason::Settled, true), (Reason::Preserved { excess: 1 }, false)] {
        controller.lists.add(uid, 7, controller.clock.uptime());
        act(&controller, &snapshot, &Plan::NoOp(reason), &writer).await;
        assert_eq!(
            controller.lists.serves(uid, 7, controller.clock.uptime()),
            serves,
            "{reason:?}"
        );
    }
}
