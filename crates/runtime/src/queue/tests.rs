use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use proptest::prelude::*;

use super::*;

const BACKOFF: Backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(60) };

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("ns", name)
}

async fn nothing_within(queue: &Queue, time: Duration) -> bool {
    tokio::time::timeout(time, queue.take()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn key_is_handed_out_once_however_often_it_was_added() {
    let queue = Queue::new(BACKOFF);
    for _ in 0..5 {
        queue.add(&key("a"));
    }
    assert_eq!(queue.take().await, key("a"));
    assert!(nothing_within(&queue, Duration::from_secs(3600)).await);
}

#[tokio::test(start_paused = true)]
async fn change_during_a_reconcile_is_neither_missed_nor_concurrent() {
    let queue = Queue::new(BACKOFF);
    queue.add(&key("a"));
    let taken = queue.take().await;
    queue.add(&key("a"));
    assert!(nothing_within(&queue, Duration::from_secs(1)).await);
    queue.done(&taken);
    assert_eq!(queue.take().await, key("a"));
}

#[tokio::test(start_paused = true)]
async fn delayed_key_is_handed_out_when_due_or_changed() {
    let queue = Queue::new(BACKOFF);
    queue.add_after(&key("a"), Duration::from_secs(10));
    assert!(nothing_within(&queue, Duration::from_secs(9)).await);
    assert_eq!(queue.take().await, key("a"));
    queue.done(&key("a"));

    queue.add_after(&key("a"), Duration::from_secs(10));
    queue.add(&key("a"));
    assert_eq!(queue.take().await, key("a"));
    queue.done(&key("a"));
    assert!(nothing_within(&queue, Duration::from_secs(60)).await);
}

#[tokio::test(start_paused = true)]
async fn the_earlier_of_two_delays_counts() {
    let queue = Queue::new(BACKOFF);
    queue.add_after(&key("a"), Duration::from_secs(100));
    queue.add_after(&key("a"), Duration::from_secs(5));
    queue.add_after(&key("a"), Duration::from_secs(50));
    assert_eq!(queue.depth(), 1);
    assert!(!nothing_within(&queue, Duration::from_secs(6)).await);
}

#[tokio::test(start_paused = true)]
async fn failures_grow_the_delay_per_key_until_they_are_forgotten() {
    let queue = Queue::new(BACKOFF);
    let fail = |name| queue.add_after_failure(&key(name), Duration::ZERO);
    let delays: Vec<_> = (0..8).map(|_| fail("a")).collect();
    assert!(delays[7] > delays[0] * 10, "{delays:?}");
    assert!(fail("b") <= BACKOFF.base);
    queue.forget_failures(&key("a"));
    assert!(fail("a") <= BACKOFF.base);
}

#[tokio::test(start_paused = true)]
async fn failure_with_a_delay_is_not_retried_earlier() {
    let queue = Queue::new(BACKOFF);
    let after = Duration::from_secs(10);
    assert_eq!(queue.add_after_failure(&key("a"), after), after);
    assert!(nothing_within(&queue, Duration::from_secs(9)).await);
    assert_eq!(queue.take().await, key("a"));
}

#[tokio::test(start_paused = true)]
async fn delays_are_bounded() {
    let queue = Queue::new(BACKOFF);
    for retry in [Retry::After(Duration::MAX), Retry::Again(Duration::MAX)] {
        queue.retry(&key("a"), Some(retry));
        assert!(nothing_within(&queue, LONGEST_DELAY.mul_f64(0.99)).await);
        assert_eq!(queue.take().await, key("a"));
        queue.done(&key("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn polling_is_no_failure_and_never_a_loop() {
    let queue = Queue::new(BACKOFF);
    queue.add_after_failure(&key("a"), Duration::ZERO);
    queue.take().await;
    queue.done(&key("a"));
    queue.retry(&key("a"), Some(Retry::Again(Duration::from_millis(300))));
    assert!(nothing_within(&queue, Duration::from_millis(299)).await);
    assert_eq!(queue.take().await, key("a"));
    queue.done(&key("a"));
    assert!(queue.add_after_failure(&key("a"), Duration::ZERO) <= BACKOFF.base, "forgotten");
    queue.take().await;
    queue.done(&key("a"));
    queue.retry(&key("a"), Some(Retry::Again(Duration::ZERO)));
    assert!(nothing_within(&queue, Duration::from_millis(9)).await);
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_sooner_and_back_off() {
    let queue = Queue::new(BACKOFF);
    let mut delays = Vec::new();
    for _ in 0..12 {
        let began = Instant::now();
        queue.retry(&key("a"), Some(Retry::Soon));
        queue.take().await;
        queue.done(&key("a"));
        delays.push(began.elapsed());
    }
    assert!(delays[0] <= BACKOFF.base / 10 + Duration::from_millis(1), "{delays:?}");
    assert!(delays[11] >= BACKOFF.max / 2, "{delays:?}");
}

fn meta(version: u64) -> Meta {
    Meta { key: key("a"), uid: Uid("u".into()), version: Version(version), deleting: false }
}

/// What requests the key during its reconcile.
#[derive(Debug, Clone, Copy)]
enum Asks {
    SelfWrite(u64),
    Change(u64),
    NoChange,
}

fn asks() -> impl Strategy<Value = Asks> {
    prop_oneof![
        6 => (0..3_u64).prop_map(Asks::SelfWrite),
        1 => (10..13_u64).prop_map(Asks::Change),
        1 => Just(Asks::NoChange),
    ]
}

proptest! {
    #[test]
    fn backoff_lasts_unless_another_change_arrives(
        asks in prop::collection::vec(asks(), 0..6),
        failed: bool,
        answers_first: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (queue, writes) = (Queue::new(BACKOFF), SelfWrites::default());
            let answers = || (0..3).for_each(|n| writes.record(&meta(n)));
            queue.add(&key("a"));
            queue.take().await;
            if answers_first {
                answers();
            }
            for asked in &asks {
                match asked {
                    Asks::SelfWrite(n) | Asks::Change(n) => {
                        queue.request(&key("a"), None, Some(Revision::of(&meta(*n))));
                    }
                    Asks::NoChange => queue.add(&key("a")),
                }
            }
            if !answers_first {
                answers();
            }
            if failed {
                queue.drop_self_caused(&key("a"), &writes);
            }
            let retry = if failed { Retry::After(Duration::from_secs(60)) } else { Retry::OnChange };
            queue.retry(&key("a"), Some(retry));
            queue.done(&key("a"));
            let news = asks.iter().any(|asked| !matches!(asked, Asks::SelfWrite(_)));
            let at_once = if failed { news } else { !asks.is_empty() };
            assert_eq!(!nothing_within(&queue, Duration::from_secs(59)).await, at_once);
            if failed && !at_once {
                assert!(!nothing_within(&queue, Duration::from_secs(2)).await, "it comes back");
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn writes_of_one_reconcile_are_changes_for_all_others() {
    let (queue, writes) = (Queue::new(BACKOFF), SelfWrites::default());
    for name in ["a", "b"] {
        queue.add(&key(name));
        queue.take().await;
    }
    writes.record(&meta(1));
    for name in ["a", "b", "c"] {
        queue.request(&key(name), None, Some(Revision::of(&meta(1))));
    }
    queue.drop_self_caused(&key("a"), &writes);
    queue.drop_self_caused(&key("b"), &SelfWrites::default());
    for name in ["a", "b"] {
        queue.done(&key(name));
    }
    assert_eq!([queue.take().await, queue.take().await], [key("c"), key("b")]);
    assert!(nothing_within(&queue, Duration::from_secs(1)).await);
}

#[tokio::test(start_paused = true)]
async fn delayed_request_during_a_reconcile_keeps_its_delay() {
    let queue = Queue::new(BACKOFF);
    queue.add(&key("a"));
    queue.take().await;
    let cause = Some(Revision::of(&meta(1)));
    queue.request(&key("a"), Some(due_after(Duration::from_secs(5))), cause);
    queue.done(&key("a"));
    assert!(nothing_within(&queue, Duration::from_secs(4)).await);
    assert_eq!(queue.take().await, key("a"));
}

#[tokio::test(start_paused = true)]
async fn memory_of_a_burst_is_freed() {
    let queue = Queue::new(BACKOFF);
    for n in 0..10_000 {
        queue.add(&key(&n.to_string()));
    }
    for _ in 0..10_000 {
        let taken = queue.take().await;
        queue.done(&taken);
    }
    let state = queue.state.lock();
    let room = state.ready.capacity() + state.wanted.capacity();
    assert!(room < 10 * ROOM, "{room}");
}

#[tokio::test(start_paused = true)]
async fn many_workers_share_the_keys_without_lost_wakeups() {
    let queue = std::sync::Arc::new(Queue::new(BACKOFF));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let queue = queue.clone();
        workers.spawn(async move { queue.take().await });
    }
    tokio::task::yield_now().await;
    for n in 0..8 {
        queue.add(&key(&n.to_string()));
    }
    let mut taken = workers.join_all().await;
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn follower_remembers_a_limited_number_of_keys() {
    let queue = Queue::new(BACKOFF);
    queue.follow(true);
    for n in 0..2 * MOST_OF_A_FOLLOWER {
        queue.add(&key(&format!("deleted-{n}")));
        queue.add_after(&key(&format!("later-{n}")), Duration::from_secs(1));
    }
    assert_eq!(queue.depth(), MOST_OF_A_FOLLOWER);
    queue.follow(false);
    queue.add(&key("existing"));
    assert_eq!(queue.depth(), MOST_OF_A_FOLLOWER + 1);
}
