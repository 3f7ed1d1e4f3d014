//! The background task of one cloud access: collects queries, fetches them together, retries and refreshes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::Classified;
use machinist_domain::shape::Capacity;
use machinist_provider::access::CloudAccess;

use super::cache::{Next, TypeCache};
use super::{AccessState, Inner};
use crate::client::identity;
use crate::ec2::Ec2;
use crate::errors::AwsError;

/// EC2 accepts 200 values in a filter and returns up to 100 types per page.
const BATCH: usize = 100;

pub(super) async fn run(inner: Arc<Inner>, state: Arc<AccessState>) {
    let stop = inner.stop.clone();
    stop.run_until_cancelled(Fetcher { inner, state, client: None }.work()).await;
}

/// On a panic its state is removed, so that the next query starts another task.
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
                        // Boxed: the SDK's futures take tens of kilobytes, and most tasks sleep.
                        Box::pin(self.fetch_all(&names)).await;
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
            match self.fetch(batch).await {
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
