//! A cluster restored from a backup under a running controller: no reconcile sees a partial list.

use tokio::sync::Notify;

use super::stage::{Definitions, Player, Role, answer, is_watch, page, silence};
use super::*;

/// Records at every reconcile how many objects the cache has.
#[derive(Clone, Default)]
struct Counter {
    counts: Arc<Mutex<Vec<usize>>>,
    passed: Arc<Notify>,
}

impl Role for Counter {
    async fn look(&self, cache: &Definitions, _: &ObjectKey) -> Result<Option<Meta>, ApiError> {
        self.counts.lock().push(cache.keys().len());
        self.passed.notify_one();
        Ok(None)
    }

    fn report(&self) -> Report {
        Report::quiet(ReconcileResult::Settled)
    }
}

/// A cluster with four objects that is restored to two, and holds back its second page.
#[derive(Clone, Default)]
struct Backup {
    restored: Arc<Mutex<bool>>,
    second_page: Arc<Notify>,
    go: Arc<Notify>,
}

impl Backup {
    fn cluster(&self) -> Cluster {
        let backup = self.clone();
        let api_server = tower::service_fn(move |request: Request<Body>| {
            let backup = backup.clone();
            async move {
                if is_watch(&request) {
                    return Ok(silence());
                }
                let restored = *backup.restored.lock();
                let page = if request.uri().to_string().contains("continue=") {
                    backup.second_page.notify_one();
                    backup.go.notified().await;
                    page(&["d"], 6, "")
                } else if restored {
                    page(&["a"], 6, "more")
                } else {
                    page(&["a", "b", "c", "d"], 60, "")
                };
                Ok::<_, Infallible>(answer(200, &page))
            }
        });
        Cluster::played_by(kube::Client::new(api_server, "default"), &Timings::default())
    }
}

#[tokio::test]
async fn no_reconcile_sees_a_partially_restored_cluster() {
    let backup = Backup::default();
    let cluster = backup.cluster();
    let counter = Counter::default();
    let controller = Player::new(counter.clone(), &cluster);
    let Counter { counts, passed } = counter;
    let cache = Arc::clone(&controller.cache);
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
