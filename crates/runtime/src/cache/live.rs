//! Live reads, after a lost answer and before a critical step. They are counted, because each costs a request.

use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use serde_json::value::RawValue;

use super::Cache;
use super::decode::{accept, decode};
use super::kind::Kind;
use super::store::Entry;
use crate::cluster::ApiError;

/// How often an object is read again because it changed meanwhile. Then the key stays uncertain.
const LIVE_READS: usize = 3;

impl<K: Kind> Cache<K> {
    /// Reads one object from the API server and stores it. `None` if it does not exist.
    pub async fn read_live(&self, key: &ObjectKey) -> Result<Option<Entry<K::Stored>>, ApiError> {
        let mut last = None;
        for _ in 0..LIVE_READS {
            let before = self.store.before_live_read(key);
            last = self.fetch(key).await?;
            if self.store.read_live(key, last.as_ref(), before) {
                return Ok(self.store.get(key));
            }
        }
        // What a read has shown exists, whatever the cache knows.
        Ok(self.store.get(key).or(last))
    }

    async fn fetch(&self, key: &ObjectKey) -> Result<Option<Entry<K::Stored>>, ApiError> {
        self.metrics.live_read(self.kind.resource());
        let path = self.kind.resource().object_path(&key.namespace, &key.name);
        match self.session.get(&path, accept::<K>(false), self.timings.request).await {
            Ok(body) => {
                let raw: &RawValue = serde_json::from_slice(&body)?;
                decode(&self.kind, raw).map(Some)
            }
            Err(ApiError::Refused { code: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The cached object, or a live read if the key is uncertain.
    pub async fn get_certain(&self, key: &ObjectKey) -> Result<Option<Entry<K::Stored>>, ApiError> {
        if self.is_uncertain(key) { self.read_live(key).await } else { Ok(self.get(key)) }
    }

    /// Reads those of `keys` that are uncertain.
    pub async fn certain_among<'a>(
        &self,
        keys: impl Iterator<Item = &'a ObjectKey> + Send,
    ) -> Result<(), ApiError> {
        for key in keys {
            self.get_certain(key).await?;
        }
        Ok(())
    }

    pub(crate) fn learn_written(&self, body: &[u8]) -> Result<Meta, ApiError> {
        let raw: &RawValue = serde_json::from_slice(body)?;
        let entry = decode(&self.kind, raw)?;
        self.store.written(&entry);
        Ok(entry.meta().clone())
    }
}
