//! A capacity source with everything that a test inspects or controls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_domain::shape::Capacity;
use machinist_provider::Pending;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::capacity::{CapacitySource, ObservedCapacity, Question};
use machinist_provider::metrics::CallMetrics;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::NoPlatform;
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_provider_aws::{Ec2Types, TypeTimings};
use machinist_runtime::clock::{Clock, ManualClock};
use machinist_testbed::aws::{AwsBed, Moto, Transport};
use machinist_testbed::poll::eventually;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

pub(crate) const TYPES: &str = "DescribeInstanceTypes";
pub(crate) const REGIONS: &str = "DescribeRegions";
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The moto of this test binary. A static is never dropped: the guard ends the process.
async fn moto() -> Arc<Moto> {
    static MOTO: OnceCell<Arc<Moto>> = OnceCell::const_new();
    let start = async || Moto::start().await.map(Arc::new);
    Arc::clone(MOTO.get_or_try_init(start).await.unwrap())
}

/// moto behind a front of its own.
pub(crate) async fn bed() -> AwsBed {
    bed_with(Transport::Plain).await
}

pub(crate) async fn bed_with(transport: Transport) -> AwsBed {
    AwsBed::start_before(moto().await, transport).await.unwrap()
}

/// The Secrets of a cluster.
#[derive(Default)]
pub(crate) struct Secrets {
    data: Mutex<BTreeMap<ObjectKey, SecretData>>,
    pub(crate) reads: AtomicUsize,
}

/// Reading this one panics the first time.
const PANIC: &str = "panic";

impl Secrets {
    pub(crate) fn put(&self, name: &str, pairs: &[(&str, &str)]) {
        self.put_in("ns", name, pairs);
    }

    pub(crate) fn put_in(&self, namespace: &str, name: &str, pairs: &[(&str, &str)]) {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), value.as_bytes().to_vec());
        let data = SecretData(pairs.iter().map(pair).collect());
        self.data.lock().insert(ObjectKey::new(namespace, name), data);
    }
}

impl SecretReader for Secrets {
    fn read<'a>(&'a self, key: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        if &*key.name == PANIC && !self.data.lock().contains_key(key) {
            let good = [("aws_access_key_id", "AKIAONE"), ("aws_secret_access_key", "x")];
            self.put(PANIC, &good);
            panic!("a reader that panics once");
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
        let found = self.data.lock().get(key).cloned().ok_or_else(|| Failure {
            category: Category::NotFound,
            retry: Retry::OnChange,
            message: "not found".to_owned(),
        });
        Box::pin(std::future::ready(found))
    }
}

#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) calls: Mutex<Vec<(&'static str, &'static str)>>,
    pub(crate) hits: AtomicUsize,
    pub(crate) misses: AtomicUsize,
}

impl CallMetrics for Counter {
    fn record_call(&self, operation: &'static str, result: &'static str) {
        self.calls.lock().push((operation, result));
    }

    fn record_lookup(&self, hit: bool) {
        if hit { &self.hits } else { &self.misses }.fetch_add(1, Ordering::Relaxed);
    }
}

/// A source and its parts.
pub(crate) struct Fixture {
    pub(crate) source: Arc<Ec2Types>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) counter: Arc<Counter>,
    /// The number of running tasks.
    pub(crate) tasks: Arc<AtomicUsize>,
    /// The calls of the listener.
    pub(crate) heard: Arc<Mutex<Vec<Vec<Arc<str>>>>>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(TypeTimings::default())
    }

    pub(crate) fn with(timings: TypeTimings) -> Self {
        let secrets = Arc::new(Secrets::default());
        secrets.put("aws", &[("aws_access_key_id", "AKIAONE"), ("aws_secret_access_key", "x")]);
        let (counter, clock) = (Arc::new(Counter::default()), Arc::new(ManualClock::default()));
        let tasks = Arc::new(AtomicUsize::new(0));
        let heard: Arc<Mutex<Vec<Vec<Arc<str>>>>> = Arc::default();
        let (ticking, running, hearing) =
            (Arc::clone(&clock), Arc::clone(&tasks), Arc::clone(&heard));
        let parts = Parts {
            secrets: Arc::clone(&secrets) as _,
            platform: Arc::new(NoPlatform),
            metrics: Arc::clone(&counter) as _,
            clock: Arc::new(move || ticking.uptime()),
            spawn: Arc::new(move |task| {
                let running = Arc::clone(&running);
                running.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    task.await;
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }),
            timings: CloudTimings::default(),
        };
        let source = Ec2Types::new(&parts, timings);
        source.listen(Box::new(move |_, types| hearing.lock().push(types.to_vec())));
        Self { source, secrets, clock, counter, tasks, heard }
    }

    pub(crate) fn look(&self, access: &CloudAccess, name: &str) -> ObservedCapacity {
        self.source.look(&Question { access: access.clone(), instance_type: name.into() })
    }

    /// Queries until the answer matches.
    pub(crate) async fn until<T>(
        &self,
        access: &CloudAccess,
        name: &str,
        wanted: impl Fn(&ObservedCapacity) -> Option<T>,
    ) -> T {
        eventually(PATIENCE, "an answer", async || {
            let answer = self.look(access, name);
            wanted(&answer).ok_or_else(|| anyhow::anyhow!("{answer:?}"))
        })
        .await
        .unwrap()
    }

    pub(crate) async fn capacity(&self, access: &CloudAccess, name: &str) -> Capacity {
        self.until(access, name, |answer| match answer {
            ObservedCapacity::Present(capacity) => Some(*capacity),
            _ => None,
        })
        .await
    }

    pub(crate) async fn failure(&self, access: &CloudAccess, name: &str) -> Failure {
        self.until(access, name, |answer| match answer {
            ObservedCapacity::Unknown(failure) => Some(failure.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn absent(&self, access: &CloudAccess, name: &str) {
        self.until(access, name, |answer| matches!(answer, ObservedCapacity::Absent).then_some(()))
            .await;
    }

    /// Waits for this number of calls.
    pub(crate) async fn calls(&self, count: usize) {
        eventually(PATIENCE, "calls", async || {
            let calls = self.counter.calls.lock().clone();
            anyhow::ensure!(calls.len() >= count, "{calls:?}");
            Ok(())
        })
        .await
        .unwrap();
    }

    /// The types of each call of the listener.
    pub(crate) fn notified(&self) -> Vec<String> {
        self.heard.lock().iter().map(|types| types.join(",")).collect()
    }
}

/// The Secret `ns/<name>` in some version.
pub(crate) fn secret(name: &str, version: u64) -> Credentials {
    Credentials::Secret { key: ObjectKey::new("ns", name), version: Version(version) }
}

/// An access with the Secret `aws` at an endpoint.
pub(crate) fn access(endpoint: &str) -> CloudAccess {
    CloudAccess {
        region: "eu-west-1".into(),
        credentials: secret("aws", 1),
        endpoint: Some(endpoint.into()),
        ca_bundle: None,
    }
}
