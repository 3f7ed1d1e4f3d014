//! A cluster that is restored from a backup under a running controller: no pass ever sees a part of it.

use machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::cache::kind::CustomResourceDefinitions;
use crate::cache::registry::Caches;
use crate::cache::{Cache, Scope};
use crate::tasks::Tasks;

/// Counts at every pass how many objects there are, as somebody would who has to keep their number.
struct Counter {
    cache: Arc<Cache<CustomResourceDefinitions>>,
    counts: Arc<Mutex<Vec<usize>>>,
    passed: Arc<Notify>,
}

impl Controller for Counter {
    type Snapshot = Meta;
    type Plan = &'static str;
    type Outcome = ();

    const NAME: &'static str = "counter";
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

    async fn observe(&self, _: &ObjectKey) -> Result<Option<Meta>, ApiError> {
        self.counts.lock().push(self.cache.keys().len());
        self.passed.notify_one();
        Ok(None)
    }

    fn decide(&self, _: &Meta, _: Timestamp) -> &'static str {
        "count"
    }

    async fn act(&self, _: &Meta, _: &&'static str, _: &Writer) {}

    fn report(&self, _: &Meta, (): &(), _: Timestamp) -> Report {
        Report::quiet(PassResult::Settled)
    }

    fn regarding<'a>(&self, meta: &'a Meta) -> Regarding<'a> {
        Regarding { resource: CUSTOM_RESOURCE_DEFINITIONS, meta }
    }
}

/// A cluster with four objects that is restored to two, and keeps its second page until it may go.
#[derive(Clone, Default)]
struct Backup {
    restored: Arc<Mutex<bool>>,
    second_page: Arc<Notify>,
    go: Arc<Notify>,
}

fn page(names: &[&str], version: u64, next: &str) -> Value {
    let item = |name: &&str| {
        json!({"metadata":
        {"name": name, "uid": name, "resourceVersion": version.to_string()}})
    };
    let items: Vec<_> = names.iter().map(item).collect();
    json!({"metadata": {"resourceVersion": version.to_string(), "continue": next}, "items": items})
}

impl Backup {
    fn cluster(&self) -> Cluster {
        let backup = self.clone();
        let api_server = tower::service_fn(move |request: Request<Body>| {
            let backup = backup.clone();
            async move {
                let path = request.uri().to_string();
                if path.contains("watch=true") {
                    let silence = futures::stream::pending::<Result<Vec<u8>, Infallible>>();
                    return Ok(Response::new(axum::body::Body::from_stream(silence)));
                }
                let restored = *backup.restored.lock();
                let page = if path.contains("continue=") {
                    backup.second_page.notify_one();
                    backup.go.notified().await;
                    page(&["d"], 6, "")
                } else if restored {
                    page(&["a"], 6, "more")
                } else {
                    page(&["a", "b", "c", "d"], 60, "")
                };
                let body = axum::body::Body::from(page.to_string());
                Ok::<_, Infallible>(Response::new(body))
            }
        });
        Cluster::played_by(kube::Client::new(api_server, "default"), &Timings::default())
    }
}

#[tokio::test]
async fn no_pass_sees_a_part_of_a_cluster_that_was_restored() {
    let backup = Backup::default();
    let cluster = backup.cluster();
    let clock: SharedClock = Arc::new(ManualClock::default());
    let caches = Caches::new(clock, Timings::default(), Arc::default(), Tasks::default());
    let cache = caches.open(&cluster, Scope::All, CustomResourceDefinitions);
    let (counts, passed) = (Arc::<Mutex<Vec<usize>>>::default(), Arc::<Notify>::default());
    let (counter, bell) = (Arc::clone(&counts), Arc::clone(&passed));
    let controller = Counter { cache: Arc::clone(&cache), counts: counter, passed: bell };
    let driver = driver_of(controller, &cluster);
    let (queue, stop) = (Arc::clone(&driver.queue), CancellationToken::new());
    let until = async |enough: &dyn Fn(&[usize]) -> bool| {
        while !enough(&counts.lock()) {
            passed.notified().await;
        }
    };
    let story = async {
        until(&|counts| counts.len() >= 4).await;
        *backup.restored.lock() = true;
        let meanwhile = async {
            backup.second_page.notified().await;
            for name in ["a", "b", "c", "d"] {
                queue.add(&ObjectKey::new("", name));
            }
            until(&|counts| counts.len() >= 8).await;
            backup.go.notify_one();
        };
        let (verified, ()) = tokio::join!(cache.verify(), meanwhile);
        verified.unwrap();
        until(&|counts| counts.last() == Some(&2)).await;
        stop.cancel();
    };
    let both = async { tokio::join!(driver.run(stop.clone()), story) };
    tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    let counts = counts.lock();
    assert!(counts.iter().all(|count| [4, 2].contains(count)), "{counts:?}");
}
