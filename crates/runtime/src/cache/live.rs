//! Reading past the cache, where only the truth will do: after a lost answer, and before a critical step. Counted, because it costs a request.

use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use serde_json::value::RawValue;

use super::Cache;
use super::decode::decode;
use super::kind::Kind;
use super::store::Entry;
use crate::cluster::ApiError;

/// How often an object is read again because it changed meanwhile. After that the key stays uncertain, and the next pass reads it.
const LIVE_READS: usize = 3;

impl<K: Kind> Cache<K> {
    /// Asks the API server for one object, stores the answer, and returns it. `None` means that it does not exist.
    pub async fn read_live(&self, key: &ObjectKey) -> Result<Option<Entry<K::Stored>>, ApiError> {
        for _ in 0..LIVE_READS {
            let before = self.store.glimpse(key);
            let entry = self.fetch(key).await?;
            if self.store.read_live(key, entry.as_ref(), before) {
                break;
            }
        }
        Ok(self.store.get(key))
    }

    async fn fetch(&self, key: &ObjectKey) -> Result<Option<Entry<K::Stored>>, ApiError> {
        self.metrics.live_read(K::RESOURCE);
        let path = K::RESOURCE.object_path(&key.namespace, &key.name);
        match self.session.get(&path, accept_object::<K>(), self.timings.request).await {
            Ok(body) => {
                let raw: &RawValue = serde_json::from_slice(&body)
                    .map_err(|error| ApiError::NotUnderstood(error.to_string()))?;
                decode(&self.kind, raw).map(Some).map_err(ApiError::NotUnderstood)
            }
            Err(ApiError::Refused { code: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is cached under `key`, unless an answer about it was lost: then what the API server says.
    pub async fn get_certain(&self, key: &ObjectKey) -> Result<Option<Entry<K::Stored>>, ApiError> {
        if self.is_uncertain(key) { self.read_live(key).await } else { Ok(self.get(key)) }
    }

    /// Reads those of `keys` about which an answer was lost, so that what is cached under all of them is certain.
    pub async fn certain_among<'a>(
        &self,
        keys: impl Iterator<Item = &'a ObjectKey> + Send,
    ) -> Result<(), ApiError> {
        let uncertain: Vec<_> = keys.filter(|key| self.is_uncertain(key)).cloned().collect();
        for key in uncertain {
            self.read_live(&key).await?;
        }
        Ok(())
    }

    /// Stores what the API server answered to a write of ours, so that the next pass sees it whatever the watch does.
    pub(crate) fn learn_written(&self, body: &[u8]) -> Result<Meta, String> {
        let raw: &RawValue = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let entry = decode(&self.kind, raw)?;
        self.store.written(&entry);
        Ok(entry.meta().clone())
    }

    /// Whether the object with this very uid is here.
    pub(crate) fn holds(&self, meta: &Meta) -> bool {
        self.store.get(&meta.key).is_some_and(|entry| entry.meta().uid == meta.uid)
    }

    /// Forgets an object, because the API server answered to a deletion of ours that it is gone; `seen` says whether it was here when the
    /// deletion went out. Nothing older brings it back.
    pub(crate) fn learn_gone(&self, meta: &Meta, seen: bool) {
        self.store.deleted(meta, seen);
    }
}

pub(super) fn accept_object<K: Kind>() -> &'static str {
    if K::METADATA_ONLY {
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    } else {
        "application/json"
    }
}
