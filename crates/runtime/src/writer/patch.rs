//! Changes fields of objects, and nothing but these: a merge patch with a precondition.

use std::fmt::Display;

use machinist_api::resource::Subresource;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::meta::Meta;
use serde_json::{Map, Value, json};

use super::doubt::Doubt;
use super::error::WriteError;
use super::gateway::{Verb, Write};
use super::{Writer, Written, metadata_of};
use crate::cache::Cache;
use crate::cache::kind::Kind;

/// Which part of an object is written: each has an endpoint of its own, which ignores what belongs to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status.
    Object,
    /// The status alone.
    Status,
}

/// What must still hold for a patch to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// It is the same object, whatever has changed about it. Enough for fields that are ours alone. The status endpoint of a custom resource
    /// ignores the uid in a patch (seen), so there this is as strict as [`Version`](Self::Version).
    Uid,
    /// Nothing at all has changed since it was looked at. Needed where a list, or a value made from the old one, is written.
    Version,
}

impl Writer {
    /// Changes some fields of an object, if it is still the one that was decided about. `patch` is a JSON object such as
    /// `{"spec": {"providerID": "…"}}`; what is null in it is removed. The answer is in the cache when this returns.
    ///
    /// The result is the object's new version; `None` where nothing was to be changed, or in a dry run.
    pub async fn patch<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        part: Part,
        guard: Guard,
        patch: Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<Meta>, WriteError> {
        if says_nothing(&patch) {
            return Ok(None);
        }
        let names_version = guard == Guard::Version || part == Part::Status;
        let mut body = patch;
        if let Some(metadata) = metadata_of(&mut body) {
            metadata.insert("uid".to_owned(), json!(&*meta.uid.0));
            if names_version {
                metadata.insert("resourceVersion".to_owned(), json!(meta.version.to_string()));
            }
        }
        let mut write = Write::whole(Verb::MergePatch, K::RESOURCE, &meta.key, &body);
        if part == Part::Status {
            write.part = Some(Subresource::Status);
        }
        let lets_go = lets_go(meta, &body);
        let doubt = Doubt::about(cache, &meta.key);
        let sent = self.send(&write, plan).await.map_err(WriteError::or_replaced);
        let written = doubt.learn(sent)?;
        match (&written, &self.self_writes) {
            // A webhook reverted it, or the CRD has no such field and the API server pruned it.
            (Some(written), writes) if written.version == meta.version && !lets_go => {
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

    /// Sets and removes annotations of an object, if nothing at all has changed about it.
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

/// Whether a patch is about the finalizers of an object that is going. The answer to the one that takes the last of them has the version of
/// before, because nothing is stored any more: what follows is the word that it is gone.
fn lets_go(meta: &Meta, patch: &Value) -> bool {
    meta.deleting && patch.pointer("/metadata/finalizers").is_some()
}

/// Whether a patch has no value in it, however deep.
fn says_nothing(patch: &Value) -> bool {
    patch.as_object().is_some_and(|fields| fields.values().all(says_nothing))
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::{ObjectKey, Uid, Version};

    use super::*;

    #[test]
    fn the_last_finalizer_of_what_is_going_is_not_taken_in_vain() {
        let uid = Uid("u".into());
        let key = ObjectKey::new("ns", "m");
        let stays = Meta { key, uid, version: Version::parse("7"), deleting: false };
        let goes = Meta { deleting: true, ..stays.clone() };
        let finalizers = json!({"metadata": {"finalizers": [], "resourceVersion": "7"}});
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        assert!(lets_go(&goes, &finalizers));
        assert!(!lets_go(&stays, &finalizers) && !lets_go(&goes, &labels));
    }

    #[test]
    fn a_patch_without_a_value_says_nothing_and_null_is_a_value() {
        assert!(says_nothing(&json!({})));
        assert!(says_nothing(&json!({"metadata": {"labels": {}}, "spec": {}})));
        assert!(!says_nothing(&json!({"metadata": {"labels": {"a": null}}})));
        assert!(!says_nothing(&json!({"status": {"conditions": []}})));
    }
}
