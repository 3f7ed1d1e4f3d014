//! Marks a key uncertain while the result of a write is unknown: until a live read, if the answer is lost.

use bytes::Bytes;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;

use super::error::WriteError;
use crate::cache::Cache;
use crate::cache::kind::Kind;

/// A write in flight. `Drop` marks the key uncertain unless the result is settled.
pub(super) struct PendingWrite<'a, K: Kind> {
    cache: &'a Cache<K>,
    key: &'a ObjectKey,
    settled: bool,
}

impl<'a, K: Kind> PendingWrite<'a, K> {
    pub(super) fn new(cache: &'a Cache<K>, key: &'a ObjectKey) -> Self {
        Self { cache, key, settled: false }
    }

    pub(super) fn settle(mut self) {
        self.settled = true;
    }

    pub(super) fn settle_unless(self, error: &WriteError) {
        if !error.leaves_uncertain() {
            self.settle();
        }
    }

    pub(super) fn learn(
        self,
        sent: Result<Option<Bytes>, WriteError>,
    ) -> Result<Option<Meta>, WriteError> {
        match sent {
            Ok(None) => {
                self.settle();
                Ok(None)
            }
            Ok(Some(answer)) => {
                let meta = self.cache.learn_written(&answer)?;
                self.settle();
                Ok(Some(meta))
            }
            Err(error) => {
                self.settle_unless(&error);
                Err(error)
            }
        }
    }
}

impl<K: Kind> Drop for PendingWrite<'_, K> {
    fn drop(&mut self) {
        if !self.settled {
            self.cache.mark_uncertain(self.key);
        }
    }
}
