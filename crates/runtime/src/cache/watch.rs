//! Keeps a store up to date: one list, then a watch that is reopened whenever it ends, and a resync every sync period.
//! Errors are logged and shown by readiness; the old content stays readable.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use machinist_api::wire::{MetadataOnly, WatchLine};
use machinist_domain::key::Version;
use machinist_domain::meta::Meta;
use machinist_domain::retry::{Classified as _, Retry};
use tokio_util::sync::CancellationToken;

use super::Cache;
use super::decode::{accept, decode};
use super::kind::Kind;
use crate::cluster::ApiError;
use crate::cluster::status::refused_in_stream;

enum End {
    Closed,
    /// The position is expired: list again.
    TooOld,
}

impl<K: Kind> Cache<K> {
    pub(super) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let keep = async { tokio::join!(self.follow(), self.verify_periodically()) };
        stop.run_until_cancelled(keep).await;
    }

    async fn follow(&self) {
        let mut failures = 0;
        loop {
            self.health.lock().opened_at = None;
            let result = self.list_then_watch().await;
            // A watch that stayed open is a success. One that ends at once, or an error that takes long, is a failure.
            let opened = self.health.lock().opened_at;
            let age = opened.map(|at| self.clock.uptime().saturating_sub(at));
            let was_good = age.is_some_and(|age| age >= self.timings.reconnect.base);
            failures = if was_good { 0 } else { failures + 1 };
            let mut at_least = Duration::ZERO;
            match result {
                Ok(()) if failures == 0 => continue,
                Ok(()) => {}
                Err(error) => {
                    if let Retry::After(after) = error.retry() {
                        at_least = after;
                    }
                    tracing::warn!(%error, failures, resource = %self.kind.resource(), "watch failed; retrying");
                    self.health.lock().trouble = Some(error);
                    self.troubled.notify_waiters();
                }
            }
            let delay = self.timings.reconnect.delay(failures, fastrand::f64());
            tokio::time::sleep(delay.max(at_least)).await;
        }
    }

    /// Lists if there is no position, then watches until an error.
    async fn list_then_watch(&self) -> Result<(), ApiError> {
        loop {
            let listed = self.list_if_needed().await?;
            match self.watch_once().await? {
                End::Closed => return Ok(()),
                End::TooOld => self.health.lock().must_list = true,
            }
            // A restarted API server does not know the position: list at once, but not in a loop.
            if listed {
                return Ok(());
            }
        }
    }

    async fn list_if_needed(&self) -> Result<bool, ApiError> {
        let needed = !*self.synced.borrow() || self.health.lock().must_list;
        if needed {
            self.verify().await?;
            self.health.lock().must_list = false;
            self.synced.send_replace(true);
        }
        Ok(needed)
    }

    async fn watch_once(&self) -> Result<End, ApiError> {
        let path = format!(
            "{}watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
            self.scope.path(self.kind.resource()),
            self.store.position(),
            self.timings.watch.as_secs().max(1),
        );
        let mut lines = match self.session.lines(&path, accept::<K>(false)).await {
            Ok(lines) => lines,
            Err(ApiError::Refused { code: 410, .. }) => return Ok(End::TooOld),
            // The cluster was restored from a backup: the position is in its future.
            Err(ApiError::Refused { code: 504, message, .. })
                if message.contains("Too large resource version") =>
            {
                return Ok(End::TooOld);
            }
            Err(error) => return Err(error),
        };
        self.heard();
        self.health.lock().opened_at = Some(self.clock.uptime());
        let silence = self.timings.watch_silence;
        loop {
            let Ok(line) = tokio::time::timeout(silence, lines.next()).await else {
                // Not an error: some API servers send no bookmarks for Events.
                tracing::debug!(resource = %self.kind.resource(), ?silence, "watch is silent; reopening");
                return Ok(End::Closed);
            };
            let Some(line) = line? else { return Ok(End::Closed) };
            self.heard();
            if let Some(end) = self.take_line(&line)? {
                return Ok(end);
            }
        }
    }

    fn take_line(&self, line: &Bytes) -> Result<Option<End>, ApiError> {
        let line: WatchLine<'_> = serde_json::from_slice(line)?;
        match line.kind {
            "ADDED" | "MODIFIED" => {
                self.store.watched(&decode(&self.kind, line.object)?);
            }
            "DELETED" => {
                let object: MetadataOnly = serde_json::from_str(line.object.get())?;
                self.store.watched_deletion(&Meta::of(&object.metadata));
            }
            "BOOKMARK" => {
                let object: MetadataOnly = serde_json::from_str(line.object.get())?;
                self.store.bookmark(Version::parse(&object.metadata.resource_version));
            }
            "ERROR" => {
                let error = refused_in_stream(line.object.get());
                return if error.code() == Some(410) { Ok(Some(End::TooOld)) } else { Err(error) };
            }
            other => {
                return Err(ApiError::NotUnderstood(format!("a watch line of type {other:?}")));
            }
        }
        Ok(None)
    }

    async fn verify_periodically(&self) {
        self.wait_synced().await;
        loop {
            // Up to a tenth early, so that replicas do not list at once.
            let pause = self.timings.sync_period.mul_f64(1.0 - fastrand::f64() / 10.0);
            tokio::time::sleep(pause).await;
            match self.verify().await {
                Ok(0) => {}
                Ok(repairs) => {
                    tracing::warn!(repairs, resource = %self.kind.resource(), "resync corrected the cache");
                    self.metrics.repaired(self.kind.resource(), repairs);
                }
                Err(error) => {
                    tracing::warn!(%error, resource = %self.kind.resource(), "resync failed");
                }
            }
            // Retries what waits for a change, in case another object changed.
            self.store.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
