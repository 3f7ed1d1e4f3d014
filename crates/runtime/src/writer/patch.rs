//! Merge patches with preconditions.

use std::fmt::Display;

use machinist_api::resource::Subresource;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::meta::Meta;
use serde_json::{Map, Value, json};

use super::error::WriteError;
use super::gateway::{Verb, Write};
use super::uncertain::PendingWrite;
use super::{Writer, Written};
use crate::cache::Cache;
use crate::cache::kind::Kind;

/// Object or status: each endpoint ignores the other part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status.
    Object,
    Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The uid, enough for fields that only machinist writes; a status patch always names the version.
    Uid,
    /// The resourceVersion, needed for lists and values derived from old ones.
    Version,
}

impl Writer {
    /// Patches an object, if the precondition holds. Returns the new version; `None` if there is nothing to change.
    pub async fn patch<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        part: Part,
        guard: Guard,
        mut patch: Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<Meta>, WriteError> {
        if is_empty_patch(&patch) {
            return Ok(None);
        }
        let names_version = guard == Guard::Version || part == Part::Status;
        patch["metadata"]["uid"] = json!(&*meta.uid.0);
        if names_version {
            patch["metadata"]["resourceVersion"] = json!(meta.version.to_string());
        }
        let mut write = Write::whole(Verb::MergePatch, cache.kind.resource(), &meta.key, &patch);
        if part == Part::Status {
            write.part = Some(Subresource::Status);
        }
        let may_delete = may_delete(meta, &patch);
        let pending = PendingWrite::new(cache, &meta.key);
        let sent = self.send(&write, plan).await.map_err(WriteError::or_replaced);
        let written = pending.learn(sent)?;
        match (&written, &self.self_writes) {
            // A webhook reverted it, or the CRD has no such field and the API server pruned it.
            (Some(written), writes) if written.version == meta.version && !may_delete => {
                tracing::warn!(key = %meta.key, %plan, "the patch changed nothing");
                if let Some(writes) = writes {
                    writes.record_unchanged();
                }
            }
            (Some(written), Some(writes)) if names_version => writes.record(written),
            _ => {}
        }
        Ok(written)
    }

    /// Sets and removes annotations, with a resourceVersion precondition.
    pub async fn annotate<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        change: &AnnotationChange,
        plan: &(dyn Display + Sync),
    ) -> Result<Written, WriteError> {
        if change.is_empty() {
            return Ok(Written::Nothing);
        }
        let annotations: Map<_, _> =
            change.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
        let patch = json!({"metadata": {"annotations": annotations}});
        let written = self.patch(cache, meta, Part::Object, Guard::Version, patch, plan).await?;
        Ok(if written.is_some() { Written::Done } else { Written::LeftOut })
    }
}

/// Whether it may remove the last finalizer of a deleted object. The answer then has the old version.
fn may_delete(meta: &Meta, patch: &Value) -> bool {
    meta.deleting && patch.pointer("/metadata/finalizers").is_some()
}

/// Whether a patch contains no value at any depth.
fn is_empty_patch(patch: &Value) -> bool {
    patch.as_object().is_some_and(|fields| fields.values().all(is_empty_patch))
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::{ObjectKey, Uid, Version};

    use super::*;

    #[test]
    fn removing_the_last_finalizer_is_not_an_unchanged_write() {
        let uid = Uid("u".into());
        let key = ObjectKey::new("ns", "m");
        let stays = Meta { key, uid, version: Version::parse("7"), deleting: false };
        let goes = Meta { deleting: true, ..stays.clone() };
        let finalizers = json!({"metadata": {"finalizers": [], "resourceVersion": "7"}});
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        assert!(may_delete(&goes, &finalizers));
        assert!(!may_delete(&stays, &finalizers) && !may_delete(&goes, &labels));
    }

    #[test]
    fn null_is_a_value_and_empty_objects_are_not() {
        assert!(is_empty_patch(&json!({})));
        assert!(is_empty_patch(&json!({"metadata": {"labels": {}}, "spec": {}})));
        assert!(!is_empty_patch(&json!({"metadata": {"labels": {"a": null}}})));
        assert!(!is_empty_patch(&json!({"status": {"conditions": []}})));
    }
}
