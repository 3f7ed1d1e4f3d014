//! Deletes objects. The answer enters the cache at once: an object with finalizers gets its deletion timestamp, any
//! other leaves a tombstone.

use std::fmt::Display;

use machinist_api::wire::Metadata;
use machinist_domain::key::Uid;
use machinist_domain::meta::Meta;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Writer;
use super::error::WriteError;
use super::gateway::{Verb, Write};
use super::uncertain::PendingWrite;
use crate::cache::Cache;
use crate::cache::kind::Kind;

/// The response to a deletion: a `Status` if the object is gone, otherwise the object.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
}

impl Answer {
    fn remains(&self) -> bool {
        self.kind != "Status" && self.metadata.deletion_timestamp.is_some()
    }
}

impl Writer {
    /// Deletes the object with this uid in the background. An object that is gone or was replaced is a success.
    pub async fn delete<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        self.delete_with(cache, meta, delete_options(&meta.uid, None), plan).await
    }

    /// The same, only in this version: a change meanwhile is a conflict, also of a request that is executed late.
    pub async fn delete_version<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        let mut body = delete_options(&meta.uid, None);
        body["preconditions"]["resourceVersion"] = json!(meta.version.to_string());
        self.delete_with(cache, meta, body, plan).await
    }

    async fn delete_with<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        mut body: Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        body["propagationPolicy"] = json!("Background");
        let seen = cache.get(&meta.key).is_some_and(|entry| entry.meta().uid == meta.uid);
        let pending = PendingWrite::new(cache, &meta.key);
        let write = Write::whole(Verb::Delete, cache.kind.resource(), &meta.key, &body);
        match self.send(&write, plan).await.map_err(WriteError::or_replaced) {
            Ok(None) => {
                pending.settle();
                return Ok(None);
            }
            Ok(Some(answer)) => match serde_json::from_slice::<Answer>(&answer) {
                Ok(parsed) if parsed.remains() => drop(pending.learn(Ok(Some(answer)))?),
                Ok(_) => {
                    cache.deleted(meta, seen);
                    pending.settle();
                }
                // Whether finalizers remain is unknown: the key becomes uncertain.
                Err(_) => drop(pending),
            },
            Err(error) if error.not_found() => {
                cache.deleted(meta, seen);
                // The cache may not have the object that has the name now.
                if !matches!(error, WriteError::Replaced(_)) {
                    pending.settle();
                }
            }
            Err(error) => {
                pending.settle_unless(&error);
                return Err(error);
            }
        }
        Ok(Some(()))
    }
}

pub(super) fn delete_options(uid: &Uid, grace: Option<u32>) -> Value {
    let mut options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": &*uid.0},
    });
    if let Some(seconds) = grace {
        options["gracePeriodSeconds"] = json!(seconds);
    }
    options
}
