use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machinist_domain::safety::ObjectRef;
use tokio::sync::watch;

use super::*;
use crate::clock::ManualClock;
use crate::freezes::Freezes;
use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::writer::{Behalf, Gateway};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no room")]
struct NoRoom;

impl Classified for NoRoom {
    fn category(&self) -> Category {
        Category::CapacityExhausted
    }

    fn retry(&self) -> Retry {
        Retry::After(Duration::from_secs(7))
    }
}

struct Scene {
    calls: AtomicUsize,
    metrics: Arc<Metrics>,
    leadership: Leadership,
    clock: Arc<ManualClock>,
    writer: Writer,
    _until: watch::Sender<Option<Duration>>,
}

impl Scene {
    fn new(dry_run: bool, lease_left: Option<Duration>) -> Self {
        let metrics = Arc::<Metrics>::default();
        let (sender, until) = watch::channel(lease_left);
        let clock = Arc::new(ManualClock::default());
        let leadership =
            Leadership::Lease { until, clock: clock.clone(), unanswered: Arc::default() };
        let writer = Writer {
            gateway: Arc::new(Gateway::new(dry_run, LIMIT, metrics.clone())),
            session: None,
            controller: "machine",
            leadership: leadership.clone(),
            target: None,
            self_writes: None,
            behalf: None,
            effect: None,
        };
        Self { calls: AtomicUsize::new(0), metrics, leadership, clock, writer, _until: sender }
    }

    async fn call(
        &self,
        takes: Duration,
        end: Result<u32, NoRoom>,
    ) -> Result<Option<u32>, CloudWriteError<NoRoom>> {
        let key = ObjectKey::new("ns", "m");
        let call = CloudCall {
            provider: "sim",
            verb: "create",
            effect: EffectKind::CloudCreate,
            key: &key,
        };
        let work = async {
            self.calls.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(takes).await;
            end
        };
        self.writer.change_cloud(call, &"make an instance", work).await
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn counted(&self, result: &str) -> bool {
        self.counted_times(result, 1)
    }

    fn counted_times(&self, result: &str, count: u8) -> bool {
        let labels = r#"controller="machine",provider="sim",verb="create""#;
        let line = format!(r#"machinist_cloud_writes_total{{{labels},result="{result}"}} {count}"#);
        self.metrics.encode(&[]).unwrap().contains(&line)
    }

    /// Whether the lease has to expire because a call may still take effect.
    fn has_unanswered(&self) -> bool {
        let Leadership::Lease { unanswered, .. } = &self.leadership else { return false };
        unanswered.lock().is_some()
    }
}

#[tokio::test(start_paused = true)]
async fn sends_nothing_without_the_lease_nor_in_a_dry_run() {
    let follower = Scene::new(false, None);
    let error = follower.call(Duration::ZERO, Ok(1)).await.unwrap_err();
    assert_eq!(error, CloudWriteError::NotLeader("machine"));
    assert!(follower.calls() == 0 && follower.counted("NotLeader") && !follower.has_unanswered());

    let dry = Scene::new(true, Some(LIMIT));
    assert_eq!(dry.call(Duration::ZERO, Ok(1)).await, Ok(None));
    assert!(dry.calls() == 0 && dry.counted("dry-run"));
}

#[tokio::test(start_paused = true)]
async fn returns_and_counts_answers() {
    let scene = Scene::new(false, Some(LIMIT));
    assert_eq!(scene.call(Duration::from_secs(1), Ok(5)).await, Ok(Some(5)));
    let error = scene.call(Duration::from_secs(1), Err(NoRoom)).await.unwrap_err();
    assert_eq!(error.category(), Category::CapacityExhausted);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)));
    assert!(scene.counted("done") && scene.counted("CapacityExhausted"));
    assert!(!scene.has_unanswered());
}

#[tokio::test(start_paused = true)]
async fn calls_end_with_the_lease() {
    for (lease_left, expected) in
        [(Duration::from_secs(4), Duration::from_secs(4)), (LIMIT * 9, LIMIT)]
    {
        let scene = Scene::new(false, Some(lease_left));
        let error = scene.call(LIMIT * 2, Ok(1)).await.unwrap_err();
        assert_eq!(error, CloudWriteError::TimedOut(expected));
        assert_eq!(error.category(), Category::Unavailable);
        assert!(scene.has_unanswered(), "it may still land");
    }
}

#[tokio::test(start_paused = true)]
async fn leader_that_was_suspended_between_two_requests_sends_no_more() {
    for (suspended, sent) in [(LIMIT / 2, 2), (LIMIT, 1)] {
        let scene = Scene::new(false, Some(LIMIT));
        let key = ObjectKey::new("ns", "m");
        let call = CloudCall {
            provider: "sim",
            verb: "create",
            effect: EffectKind::CloudCreate,
            key: &key,
        };
        let request = || -> Result<(), NoRoom> {
            permit::check().map_err(|_| NoRoom)?;
            scene.calls.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let work = async {
            request()?;
            // The timers of tokio stand still meanwhile.
            scene.clock.advance(suspended);
            request()
        };
        let answer = scene.writer.change_cloud(call, &"make an instance", work).await;
        assert_eq!(scene.calls(), sent, "suspended for {suspended:?}");
        match sent {
            2 => assert_eq!(answer, Ok(Some(()))),
            _ => assert_eq!(answer, Err(CloudWriteError::NotLeader("machine"))),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn freeze_stops_calls_and_the_rest_of_a_call_that_has_begun() {
    let scene = Scene::new(false, Some(LIMIT));
    let freezes = Arc::new(Freezes::for_tests(scene.clock.clone(), &Arc::default()));
    let key = ObjectKey::new("ns", "m");
    let object = ObjectRef { kind: "Machine", key: key.clone() };
    let behalf = Behalf::of(&freezes, object);
    let writer = Writer { behalf: Some(behalf.clone()), ..scene.writer.clone() };
    let call =
        CloudCall { provider: "sim", verb: "create", effect: EffectKind::CloudCreate, key: &key };
    let request = || -> Result<(), NoRoom> {
        permit::check().map_err(|_| NoRoom)?;
        scene.calls.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    let work = async {
        request()?;
        freezes.begin_for_tests("network work");
        request()
    };
    let answer = writer.change_cloud(call, &"make an instance", work).await;
    assert!(matches!(answer, Err(CloudWriteError::Frozen(_))), "{answer:?}");
    assert_eq!((scene.calls(), scene.has_unanswered()), (1, true));
    let again = writer.change_cloud(call, &"make an instance", async { request() }).await;
    assert_eq!(again.unwrap_err().category(), Category::Frozen);
    assert!(scene.calls() == 1 && scene.counted_times("Frozen", 2) && behalf.refusal().is_some());
}
