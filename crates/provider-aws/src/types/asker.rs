//! The task of one realm: collects questions for a moment, asks them together, retries, refreshes. One request at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::Classified;
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::{Credentials, Realm};

use super::store::{Memory, Next};
use super::{Inner, RealmState};
use crate::ec2::Ec2;
use crate::errors::AwsError;

/// EC2 takes up to 200 values in a filter and gives up to 100 types on a page.
const BATCH: usize = 100;

/// Runs until nobody asks about the realm any more, or the source is dropped.
pub(super) async fn run(inner: Arc<Inner>, state: Arc<RealmState>) {
    let stop = inner.stop.clone();
    stop.run_until_cancelled(Asker { inner, state, client: None }.work()).await;
}

/// If it panics, its realm is forgotten, so that the next look gets another asker.
struct Asker {
    inner: Arc<Inner>,
    state: Arc<RealmState>,
    client: Option<Ec2>,
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.inner.remove(&self.state);
    }
}

impl Asker {
    async fn work(mut self) {
        loop {
            match self.next() {
                Next::Ask(_) => {
                    tokio::time::sleep(self.inner.timings.batch_window).await;
                    // Again: others asked meanwhile.
                    if let Next::Ask(names) = self.next() {
                        // Boxed: the SDK's futures take tens of kilobytes, and most askers sleep most of the time.
                        Box::pin(self.ask_all(&names)).await;
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
        let mut memory = self.state.memory.lock();
        let changed = memory.sweep(now);
        let next = memory.next(now);
        drop(memory);
        self.inner.announce(&self.state.realm, &changed);
        next
    }

    /// Waits for a look that wants something, or for the time to pass. A client that idles is let go, with its credentials.
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

    async fn ask_all(&mut self, names: &[Arc<str>]) {
        for batch in names.chunks(BATCH) {
            match self.ask(batch).await {
                Ok(found) => {
                    self.note(|memory, now| memory.answered(batch, &found, now, fastrand::f64()));
                }
                Err(error) => {
                    // A client whose credentials were refused is no use, and any other is quickly made.
                    self.client = None;
                    let failure = error.failure();
                    let is_news =
                        self.note(|memory, now| memory.failed(failure, now, fastrand::f64()));
                    self.log(&error, is_news);
                    return;
                }
            }
        }
    }

    async fn ask(&mut self, names: &[Arc<str>]) -> Result<HashMap<String, Capacity>, AwsError> {
        let client = match self.client.take() {
            Some(client) => client,
            None => self.connect().await?,
        };
        let types = self.client.insert(client).types(names).await?;
        Ok(types.iter().map(|facts| (facts.name.clone(), facts.capacity())).collect())
    }

    async fn connect(&self) -> Result<Ec2, AwsError> {
        let Inner { regions, connector, .. } = &*self.inner;
        regions.validate(&self.state.realm, connector).await?;
        connector.connect(&self.state.realm).await
    }

    /// Changes what is known and tells the listeners; true if there was something to tell.
    fn note(&self, change: impl FnOnce(&mut Memory, Duration) -> Vec<Arc<str>>) -> bool {
        let changed = change(&mut self.state.memory.lock(), (self.inner.clock)());
        self.inner.announce(&self.state.realm, &changed);
        !changed.is_empty()
    }

    /// Repeats are for those who look for them.
    fn log(&self, error: &AwsError, is_news: bool) {
        let Realm { region, credentials, .. } = &self.state.realm;
        let identity = match credentials {
            Credentials::Ambient => "ambient".to_owned(),
            Credentials::Secret { key, .. } => format!("secret {key}"),
        };
        if is_news {
            tracing::warn!(%error, %region, identity, "EC2 could not be asked");
        } else {
            tracing::debug!(%error, %region, identity, "EC2 still cannot be asked");
        }
    }
}
