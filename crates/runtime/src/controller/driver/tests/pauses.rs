//! The backoff of a failed reconcile that writes its status lasts, unless another client changes something.

use serde_json::json;
use tokio::time::Instant;

use super::stage::{Definitions, Player, Role, answer, definition, is_watch, page, silence};
use super::*;

/// The test ends after so many reconciles: in a loop the paused clock would never advance.
const MAX_RECONCILES: usize = 50;

/// Fails always, with another status each time.
struct Failing {
    retry: Retry,
    reconciles: Reconciles,
}

type Reconciles = Arc<Mutex<Vec<Instant>>>;

impl Role for Failing {
    fn report(&self) -> Report {
        let mut reconciles = self.reconciles.lock();
        reconciles.push(Instant::now());
        let status =
            (reconciles.len() < MAX_RECONCILES).then(|| json!({"request": reconciles.len()}));
        Report { status, retry: Some(self.retry), ..Report::quiet(ReconcileResult::Failed) }
    }
}

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

async fn reconciles(retry: Retry, meanwhile: impl AsyncFnOnce(&Definitions)) -> Vec<Duration> {
    let (cluster, reconciles) = (cluster(), Reconciles::default());
    let controller = Player::new(Failing { retry, reconciles: Arc::clone(&reconciles) }, &cluster);
    let cache = Arc::clone(&controller.cache);
    let (stop, began) = (CancellationToken::new(), Instant::now());
    let run = driver_of(controller, &cluster).run(stop.clone());
    let end = async {
        meanwhile(&cache).await;
        tokio::time::sleep_until(began + Duration::from_secs(35)).await;
        stop.cancel();
    };
    tokio::join!(run, end);
    let reconciles = reconciles.lock();
    reconciles.iter().map(|at| at.duration_since(began)).collect()
}

#[tokio::test(start_paused = true)]
async fn own_status_update_does_not_shorten_the_backoff() {
    let began = reconciles(Retry::After(Duration::from_secs(10)), async |_| {}).await;
    let seconds: Vec<_> = began.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [0, 10, 20, 30]);
    let began = reconciles(Retry::Backoff, async |_| {}).await;
    assert!((2..10).contains(&began.len()), "{began:?}");
}

#[tokio::test(start_paused = true)]
async fn own_write_of_a_successful_reconcile_requeues() {
    let began = reconciles(Retry::OnChange, async |_| {}).await;
    assert_eq!(began.len(), MAX_RECONCILES);
}

#[tokio::test(start_paused = true)]
async fn write_of_another_client_ends_the_backoff() {
    let began = reconciles(Retry::After(Duration::from_secs(10)), async |cache| {
        tokio::time::sleep(Duration::from_secs(3)).await;
        cache.learn_written(definition("a", 100).to_string().as_bytes()).unwrap();
    });
    let seconds: Vec<_> = began.await.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds[..2], [0, 3]);
}
