//! Many writes at once: how many, when no more, and what is told of them.

use std::cell::Cell;
use std::time::Duration;

use super::*;

fn failure(message: String) -> Failure {
    Failure { category: Category::Unavailable, retry: Retry::Backoff, message }
}

#[tokio::test(start_paused = true)]
async fn whoever_answers_first_the_same_failure_is_told() {
    for waits in [[3, 1, 2], [1, 3, 2], [2, 3, 1]] {
        let items = (0..3).map(|at| (at, Duration::from_secs(waits[at]))).collect();
        let done = at_once(3, items, |(at, wait): (usize, Duration)| async move {
            tokio::time::sleep(wait).await;
            Done::No(failure(format!("number {at}")))
        });
        let told: Vec<_> = done
            .await
            .into_iter()
            .map(|(at, done)| match done {
                Done::No(failure) => (at, failure.message),
                _ => (at, String::new()),
            })
            .collect();
        let expected: Vec<_> = (0..3).map(|at| (at, format!("number {at}"))).collect();
        assert_eq!(told, expected, "answers after {waits:?} seconds");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_nothing_more_is_begun_and_what_was_begun_is_waited_for() {
    let (running, most) = (Cell::new(0), Cell::new(0));
    let (running, most) = (&running, &most);
    let done = at_once(4, (0..100).collect(), |number: u64| async move {
        running.set(running.get() + 1);
        most.set(most.get().max(running.get()));
        tokio::time::sleep(Duration::from_secs(1 + number % 3)).await;
        running.set(running.get() - 1);
        if number == 20 { Done::No(failure(String::new())) } else { Done::Met }
    })
    .await;
    assert_eq!((most.get(), running.get()), (4, 0));
    // While it was under way for three seconds, three others could begin one after the other.
    assert!((21..=33).contains(&done.len()), "{} were begun", done.len());
}
