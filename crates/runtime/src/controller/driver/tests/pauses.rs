//! A pass that fails, and writes that it did: the pause lasts, unless somebody else changes something.

use machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::cache::kind::{CustomResourceDefinitions, Stored as _};
use crate::cache::registry::Caches;
use crate::cache::store::Entry;
use crate::cache::{Cache, Scope};
use crate::tasks::Tasks;
use crate::writer::{Guard, Part};

/// After so many passes it gives up: a loop would keep the test's clock from ever moving.
const MOST_PASSES: usize = 50;

type Definitions = Cache<CustomResourceDefinitions>;

/// Fails always, and says so each time in other words.
struct Failing {
    cache: Arc<Definitions>,
    retry: Retry,
    passes: Passes,
}

/// When passes began.
type Passes = Arc<Mutex<Vec<Instant>>>;

impl Controller for Failing {
    type Snapshot = Meta;
    type Plan = &'static str;
    type Outcome = ();

    const NAME: &'static str = "failing";
    const USER_AGENT: UserAgent = UserAgent::ANNOTATOR;
    const REQUIRES: &'static [Resource] = &[];
    const ELECTS: bool = false;
    const WORKERS: usize = 2;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.cache.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = Arc::clone(queue);
        self.cache.subscribe(move |change| queue.add(change.key));
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Meta>, ApiError> {
        Ok(match self.cache.get(key) {
            Some(Entry::Known(definition)) => Some(definition.meta().clone()),
            _ => None,
        })
    }

    fn decide(&self, _: &Meta, _: Timestamp) -> &'static str {
        "fail"
    }

    async fn act(&self, _: &Meta, _: &&'static str, _: &Writer) {
        self.passes.lock().push(Instant::now());
    }

    fn report(&self, _: &Meta, (): &(), _: Timestamp) -> Report {
        let passes = self.passes.lock().len();
        let status = (passes < MOST_PASSES).then(|| json!({"request": passes}));
        Report { status, retry: Some(self.retry), ..Report::quiet(PassResult::Failed) }
    }

    async fn write_status(
        &self,
        meta: &Meta,
        (): &(),
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        let patch = json!({"status": status});
        writer.patch(&self.cache, meta, Part::Status, Guard::Version, patch, &"fail").await
    }

    fn regarding<'a>(&self, meta: &'a Meta) -> Regarding<'a> {
        Regarding { resource: CUSTOM_RESOURCE_DEFINITIONS, meta }
    }
}

fn definition(version: u64) -> Value {
    let metadata = json!({"name": "a", "uid": "uid", "resourceVersion": version.to_string()});
    json!({"metadata": metadata})
}

/// An API server with one object. Its watch is silent: answers alone tell.
fn cluster(timings: &Timings) -> Cluster {
    let version = Arc::new(AtomicU64::new(5));
    let api_server = tower::service_fn(move |request: Request<Body>| {
        let watch = request.uri().query().unwrap_or_default().contains("watch=true");
        let body = if request.method() == http::Method::PATCH {
            definition(version.fetch_add(1, Ordering::Relaxed) + 1)
        } else {
            let items = [definition(version.load(Ordering::Relaxed))];
            json!({"metadata": {"resourceVersion": "5"}, "items": items})
        };
        let body = if watch {
            axum::body::Body::from_stream(futures::stream::pending::<Result<Vec<u8>, Infallible>>())
        } else {
            axum::body::Body::from(body.to_string())
        };
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    Cluster::played_by(kube::Client::new(api_server, "default"), timings)
}

/// Runs the controller for a while, and says when its passes began. `meanwhile` happens at the same time.
async fn passes(retry: Retry, meanwhile: impl AsyncFnOnce(&Definitions)) -> Vec<Duration> {
    let timings = Timings::default();
    let clock: SharedClock = Arc::new(ManualClock::default());
    let cluster = cluster(&timings);
    let caches = Caches::new(clock, timings, Arc::default(), Tasks::default());
    let cache = caches.open(&cluster, Scope::All, CustomResourceDefinitions);
    let passes = Passes::default();
    let controller = Failing { cache: Arc::clone(&cache), retry, passes: Arc::clone(&passes) };
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
        cache.learn_written(definition(100).to_string().as_bytes()).unwrap();
    });
    let seconds: Vec<_> = began.await.iter().map(Duration::as_secs).collect();
    assert_eq!(seconds[..2], [0, 3]);
}
