//! A pass that fails, and writes that it did: the pause lasts, unless somebody else changes something.

use serde_json::json;
use tokio::time::Instant;

use super::stage::{Definitions, Player, Role, answer, definition, is_watch, page, silence};
use super::*;

/// After so many passes it gives up: a loop would keep the test's clock from ever moving.
const MOST_PASSES: usize = 50;

/// Fails always, and says so each time in other words.
struct Failing {
    retry: Retry,
    passes: Passes,
}

/// When passes ended.
type Passes = Arc<Mutex<Vec<Instant>>>;

impl Role for Failing {
    fn report(&self) -> Report {
        let mut passes = self.passes.lock();
        passes.push(Instant::now());
        let status = (passes.len() < MOST_PASSES).then(|| json!({"request": passes.len()}));
        Report { status, retry: Some(self.retry), ..Report::quiet(ReconcileResult::Failed) }
    }
}

/// An API server with one object. Its watch is silent: answers alone tell.
fn cluster() -> Cluster {
    let version = Arc::new(AtomicU64::new(5));
    let api_server = tower::service_fn(move |request: Request<Body>| {
        let answer = if is_watch(&request) {
            silence()
        } else if request.method() == http::Method::PATCH {
            answer(200, &definition("a", version.fetch_add(1, Ordering::Relaxed) + 1))
        } else {
            answer(200, &page(&["a"], version.load(Ordering::Relaxed), ""))
        };
        async move { Ok::<_, Infallible>(answer) }
    });
    Cluster::played_by(kube::Client::new(api_server, "default"), &Timings::default())
}

/// Runs the controller for a while, and says when its passes ended. `meanwhile` happens at the same time.
async fn passes(retry: Retry, meanwhile: impl AsyncFnOnce(&Definitions)) -> Vec<Duration> {
    let (cluster, passes) = (cluster(), Passes::default());
    let controller = Player::new(Failing { retry, passes: Arc::clone(&passes) }, &cluster);
    let cache = Arc::clone(&controller.cache);
    let (stop, began) = (CancellationToken::new(), Instant::now());
    let run = driver_of(controller, &cluster).run(stop.clone());
    let end = async {
        meanwhile(&cache).await;
        tokio::time::sleep_until(began + Duration::from_secs(35)).await;
        stop.cancel();
    };
    tokio::join!(run, end);
    let passes = passes.lock();
    passes.iter().map(|pass| pass.duration_since(began)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_pass_writes_does_not_cut_its_pause_short() {
    let began = passes(Retry::After(Duration::from_secs(10)), async |_| {}).await;
    let seconds: Vec<_> = began.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [0, 10, 20, 30]);
    let began = passes(Retry::Backoff, async |_| {}).await;
    assert!((2..10).contains(&began.len()), "{began:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_pass_writes_without_having_failed_brings_it_back() {
    let began = passes(Retry::OnChange, async |_| {}).await;
    assert_eq!(began.len(), MOST_PASSES);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_writes_ends_the_pause() {
    let began = passes(Retry::After(Duration::from_secs(10)), async |cache| {
        tokio::time::sleep(Duration::from_secs(3)).await;
        cache.learn_written(definition("a", 100).to_string().as_bytes()).unwrap();
    });
    let seconds: Vec<_> = began.await.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds[..2], [0, 3]);
}
