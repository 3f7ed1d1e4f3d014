//! Deletes objects, those that were decided about and no others of the same name.
//!
//! A deletion counts as done from its answer on: an object that waits for its finalizers is in the cache with its deletion timestamp, one
//! that is gone is not there any more, and an older watch event or list does not bring it back.

use std::fmt::Display;

use machinist_api::wire::Metadata;
use machinist_domain::key::Uid;
use machinist_domain::meta::Meta;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Writer;
use super::doubt::Doubt;
use super::error::WriteError;
use super::gateway::{Verb, Write};
use crate::cache::Cache;
use crate::cache::kind::Kind;

/// What the API server answers to a deletion: a `Status` if the object is gone, otherwise the object.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
}

impl Answer {
    /// Whether the object is still there, being deleted.
    fn remains(&self) -> bool {
        self.kind != "Status" && self.metadata.deletion_timestamp.is_some()
    }
}

impl Writer {
    /// Deletes the object with this uid; what it owns is collected in the background. That it was gone before, or that another object has
    /// its name now, is a success, too. `None` means that this is a dry run.
    pub async fn delete<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        let mut body = delete_options(&meta.uid, None);
        body["propagationPolicy"] = json!("Background");
        let seen = cache.holds(meta);
        let doubt = Doubt::about(cache, &meta.key);
        let write = Write::whole(Verb::Delete, K::RESOURCE, &meta.key, &body);
        match self.send(&write, plan).await.map_err(WriteError::or_replaced) {
            Ok(None) => {
                doubt.settle();
                return Ok(None);
            }
            Ok(Some(answer)) => match serde_json::from_slice::<Answer>(&answer) {
                Ok(parsed) if parsed.remains() => drop(doubt.learn(Ok(Some(answer)))?),
                Ok(_) => {
                    cache.learn_gone(meta, seen);
                    doubt.settle();
                }
                // It was deleted, but who knows whether it waits for something: that is what the doubt is for.
                Err(_) => drop(doubt),
            },
            Err(error) if error.not_found() => {
                cache.learn_gone(meta, seen);
                // The one that has its name now is somebody else, whom the cache may not have met.
                if !matches!(error, WriteError::Replaced { .. }) {
                    doubt.settle();
                }
            }
            Err(error) => {
                doubt.settle_unless(&error);
                return Err(error);
            }
        }
        Ok(Some(()))
    }
}

/// The options of a deletion that is meant for one uid.
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
