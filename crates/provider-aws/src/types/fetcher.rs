//! The background task of one cloud access: collects queries, fetches them together, retries and refreshes. A fetch
//! that panics is one that failed.

use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified};
use machinist_domain::shape::Capacity;
use machinist_provider::access::CloudAccess;

use super::cache::{Next, TypeCache};
use super::{AccessState, Inner};
use crate::client::identity;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::messages;

/// EC2 accepts 200 values in a filter and returns up to 100 types per page.
const BATCH: usize = 100;

pub(super) async fn run(inner: Arc<Inner>, state: Arc<AccessState>) {
    let stop = inner.stop.clone();
    stop.run_until_cancelled(Fetcher { inner, state, client: None }.work()).await;
}

/// However it ends, its state is removed, so that the next query starts another task.
struct Fetcher {
    inner: Arc<Inner>,
    state: Arc<AccessState>,
    client: Option<Ec2>,
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.inner.accesses.lock().retain(|other| !Arc::ptr_eq(other, &self.state));
    }
}

impl Fetcher {
    async fn work(mut self) {
        loop {
            match self.next() {
                Next::Fetch(_) => {
                    tokio::time::sleep(self.inner.timings.batch_window).await;
                    // Include queries that arrived meanwhile.
                    if let Next::Fetch(names) = self.next() {
                        self.fetch_all(&names).await;
                    }
                }
                Next::WaitUntil(then) => {
                    let pause = then.saturating_sub((self.inner.clock)());
                    self.rest(pause).await;
                }
                Next::End if self.inner.forget(&self.state) => return,
                Next::End => {}
            }
        }
    }

    fn next(&self) -> Next {
        let now = (self.inner.clock)();
        let mut cache = self.state.cache.lock();
        let changed = cache.sweep(now);
        let next = cache.next(now);
        drop(cache);
        self.inner.announce(&self.state.access, &changed);
        next
    }

    async fn rest(&mut self, pause: Duration) {
        let idle = self.inner.timings.client_idle;
        let short = if self.client.is_some() { pause.min(idle) } else { pause };
        tokio::select! {
            () = self.state.wake.notified() => {}
            () = tokio::time::sleep(short) => {
                if short == idle {
                    self.client = None;
                }
            }
        }
    }

    async fn fetch_all(&mut self, names: &[Arc<str>]) {
        for batch in names.chunks(BATCH) {
            // Boxed: the SDK's futures take tens of kilobytes, and most tasks sleep.
            match contained(Box::pin(self.fetch(batch))).await {
                Ok(found) => {
                    self.update(|cache, now| cache.answered(batch, &found, now, fastrand::f64()));
                }
                Err(error) => {
                    // The credentials may have been refused, and a new client is cheap.
                    self.client = None;
                    let failure = error.failure();
                    let is_news =
                        self.update(|cache, now| cache.failed(failure, now, fastrand::f64()));
                    self.log(&error, is_news);
                    return;
                }
            }
        }
    }

    async fn fetch(&mut self, names: &[Arc<str>]) -> Result<HashMap<String, Capacity>, AwsError> {
        let client = match self.client.take() {
            Some(client) => client,
            None => self.inner.clients.connect(&self.state.access).await?,
        };
        let types = self.client.insert(client).types(names).await?;
        Ok(types.iter().map(|facts| (facts.name.to_string(), facts.capacity())).collect())
    }

    fn update(&self, change: impl FnOnce(&mut TypeCache, Duration) -> Vec<Arc<str>>) -> bool {
        let changed = change(&mut self.state.cache.lock(), (self.inner.clock)());
        self.inner.announce(&self.state.access, &changed);
        !changed.is_empty()
    }

    fn log(&self, error: &AwsError, is_news: bool) {
        let CloudAccess { region, credentials, .. } = &self.state.access;
        let identity = identity(credentials);
        if is_news {
            tracing::warn!(%error, %region, identity, "cannot fetch instance types from EC2");
        } else {
            tracing::debug!(%error, %region, identity, "still cannot fetch instance types from EC2");
        }
    }
}

/// What `fetch` returns, or a failure if it panics: a panic of this task would end the process.
async fn contained<T>(fetch: impl Future<Output = Result<T, AwsError>>) -> Result<T, AwsError> {
    let mut fetch = pin!(fetch);
    let panicked = |_| {
        let error = AwsError::access(Category::Unexpected, messages::FETCH_PANICKED);
        Poll::Ready(Err(error))
    };
    poll_fn(|context| {
        let poll = AssertUnwindSafe(|| fetch.as_mut().poll(context));
        catch_unwind(poll).unwrap_or_else(panicked)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::{Result, ensure};
    use machinist_domain::backoff::Backoff;
    use machinist_domain::key::{ObjectKey, Version};
    use machinist_domain::retry::{Failure, Retry};
    use machinist_provider::Pending;
    use machinist_provider::access::Credentials;
    use machinist_provider::capacity::{CapacitySource as _, ObservedCapacity, Question};
    use machinist_provider::parts::Parts;
    use machinist_provider::platform::NoPlatform;
    use machinist_provider::secret::{SecretData, SecretReader};
    use machinist_testbed::poll::eventually;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::samples::parts;
    use crate::types::{Ec2Types, TypeTimings};

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Panics, and then waits until it is open.
    struct Trap {
        reads: AtomicUsize,
        open: Semaphore,
    }

    impl SecretReader for Trap {
        fn read<'a>(&'a self, _: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
            Box::pin(async move {
                assert!(self.reads.fetch_add(1, Ordering::SeqCst) > 0, "a bug");
                drop(self.open.acquire().await);
                let (category, retry) = (Category::NotFound, Retry::OnChange);
                Err(Failure { category, retry, message: "not found".to_owned() })
            })
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_that_is_retried_by_the_same_task() -> Result<()> {
        let trap = Arc::new(Trap { reads: AtomicUsize::new(0), open: Semaphore::new(0) });
        let (ended, tasks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (ends, starts) = (Arc::clone(&ended), Arc::clone(&tasks));
        let parts = Parts {
            secrets: Arc::clone(&trap) as _,
            spawn: Arc::new(move |task| {
                starts.fetch_add(1, Ordering::SeqCst);
                let ends = Arc::clone(&ends);
                drop(tokio::spawn(async move {
                    // A panic of the task ends it, too.
                    drop(tokio::spawn(task).await);
                    ends.fetch_add(1, Ordering::SeqCst);
                }));
            }),
            ..parts(NoPlatform)
        };
        let soon = Backoff { base: Duration::from_millis(1), max: Duration::from_millis(1) };
        let source = Ec2Types::new(&parts, TypeTimings { retry: soon, ..TypeTimings::default() });
        let credentials =
            Credentials::Secret { key: ObjectKey::new("ns", "aws"), version: Version(1) };
        let access = CloudAccess {
            region: "eu-west-1".into(),
            credentials,
            endpoint: None,
            ca_bundle: None,
        };
        let fails = async |expected: Category| {
            eventually(PATIENCE, expected.as_str(), async || {
                let instance_type = "m5.large".into();
                let answer = source.look(&Question { access: access.clone(), instance_type });
                let category = match &answer {
                    ObservedCapacity::Unknown(failure) => Some(failure.category),
                    _ => None,
                };
                ensure!(category == Some(expected), "{answer:?}");
                Ok(())
            })
            .await
        };
        fails(Category::Unexpected).await?;
        trap.open.add_permits(1);
        // The Secret does not exist.
        fails(Category::InvalidConfiguration).await?;
        assert_eq!((tasks.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (1, 0));
        Ok(())
    }
}
