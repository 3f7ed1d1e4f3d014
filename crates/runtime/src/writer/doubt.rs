//! What a write leaves behind in a cache, whatever becomes of it.
//!
//! From the moment a write goes out until its answer is there, nobody knows what its object is like. If the answer never comes, because it is
//! lost or because the pass that waited for it is abandoned, the key stays *uncertain* until a live read.

use bytes::Bytes;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;

use super::error::WriteError;
use crate::cache::Cache;
use crate::cache::kind::Kind;
use crate::cluster::ApiError;

/// A write under way. Dropped, it makes the key uncertain, unless somebody said that there is no doubt.
pub(super) struct Doubt<'a, K: Kind> {
    cache: &'a Cache<K>,
    key: &'a ObjectKey,
    settled: bool,
}

impl<'a, K: Kind> Doubt<'a, K> {
    /// A write about `key` is going out.
    pub(super) fn about(cache: &'a Cache<K>, key: &'a ObjectKey) -> Self {
        Self { cache, key, settled: false }
    }

    /// It is known what the object is like.
    pub(super) fn settle(mut self) {
        self.settled = true;
    }

    /// It is known what the object is like, unless `error` leaves that open.
    pub(super) fn settle_unless(self, error: &WriteError) {
        if !error.leaves_doubt() {
            self.settle();
        }
    }

    /// Takes in the answer to a write that the API server answers with the object.
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
                let meta = self.cache.learn_written(&answer).map_err(ApiError::NotUnderstood)?;
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

impl<K: Kind> Drop for Doubt<'_, K> {
    fn drop(&mut self) {
        if !self.settled {
            self.cache.mark_uncertain(self.key);
        }
    }
}
