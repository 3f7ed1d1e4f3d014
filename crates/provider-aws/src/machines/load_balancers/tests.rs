use std::sync::atomic::{AtomicUsize, Ordering};

use machinist_provider::parts::Clock;

use super::*;
use crate::groups::ambient;
use crate::machines::launch::resolve::keep_answer;

fn key() -> LoadBalancerKey {
    (ambient(), false, "api".to_owned())
}

struct Fixture {
    lookups: TargetLookups,
    count: AtomicUsize,
}

impl Fixture {
    fn new() -> Self {
        let clock: Clock = Arc::new(|| Duration::ZERO);
        Self { lookups: Lookups::new(&clock, keep_answer), count: AtomicUsize::new(0) }
    }

    async fn change(&self, answer: Targets) -> Targets {
        let read = || async {
            tokio::task::yield_now().await;
            self.count.fetch_add(1, Ordering::Relaxed);
            answer.clone()
        };
        targets_for_change(&self.lookups, &key(), read).await
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn changes_that_wait_share_a_failure_that_is_not_kept() {
    let fixture = Fixture::new();
    let failed: Targets = Err(timed_out());
    let change = || fixture.change(failed.clone());
    let all = tokio::join!(change(), change(), change());
    assert_eq!(all, (failed.clone(), failed.clone(), failed.clone()));
    assert_eq!(fixture.count(), 1);
    assert_eq!(fixture.change(Ok(Arc::default())).await, Ok(Arc::default()));
    assert_eq!(fixture.count(), 2);
}

#[tokio::test]
async fn changes_read_together_what_a_describe_could_not_read() {
    let fixture = Fixture::new();
    let read: Targets = Ok(Arc::default());
    let described = fixture.lookups.get(key(), async { Ok(Err(timed_out())) }).await;
    assert_eq!(described, Ok(Err(timed_out())));
    let all = tokio::join!(fixture.change(read.clone()), fixture.change(read.clone()));
    assert_eq!((all, fixture.count()), ((read.clone(), read.clone()), 1));
    let kept = fixture.change(Err(timed_out())).await;
    assert_eq!((kept, fixture.count()), (read, 1));
}

#[tokio::test]
async fn a_describe_reads_each_load_balancer_once() {
    let mut known = Registrations::new();
    let (at_once, later) = (Instant::now(), Instant::now() + READ_ALL_TIMEOUT);
    let cut = read_once(&mut known, &key(), at_once, std::future::pending()).await;
    assert_eq!(cut, Err(timed_out()));
    let again = read_once(&mut known, &key(), later, async { Ok(Arc::default()) }).await;
    assert_eq!(again, cut, "the answer of the first read");
    let other = (ambient(), true, "api".to_owned());
    let read = read_once(&mut known, &other, later, async { Ok(Arc::default()) }).await;
    assert_eq!(read, Ok(Arc::default()));
}
