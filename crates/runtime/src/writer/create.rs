//! Creates objects.

use std::fmt::Display;

use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use serde_json::{Value, json};

use super::error::WriteError;
use super::gateway::{Verb, Write};
use super::uncertain::PendingWrite;
use super::{Writer, Written, metadata_of};
use crate::cache::Cache;
use crate::cache::kind::Kind;

impl Writer {
    /// Creates an object; kind, namespace and name are filled in here. The cache has the answer when this returns.
    /// `None` in a dry run.
    ///
    /// If the name is taken ([`WriteError::already_exists`]), probably by an earlier attempt, the key becomes
    /// uncertain.
    pub async fn create<K: Kind>(
        &self,
        cache: &Cache<K>,
        key: &ObjectKey,
        object: &Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<Meta>, WriteError> {
        let mut body = object.clone();
        if let Some(body) = body.as_object_mut() {
            body.insert("apiVersion".to_owned(), json!(K::RESOURCE.api_version()));
            body.insert("kind".to_owned(), json!(K::RESOURCE.kind));
        }
        if let Some(metadata) = metadata_of(&mut body) {
            metadata.insert("name".to_owned(), json!(&*key.name));
            if !key.namespace.is_empty() {
                metadata.insert("namespace".to_owned(), json!(&*key.namespace));
            }
        }
        let pending = PendingWrite::new(cache, key);
        pending.learn(self.send(&Write::whole(Verb::Create, K::RESOURCE, key, &body), plan).await)
    }

    /// Creates an Event.
    pub(crate) async fn create_event(
        &self,
        namespace: &str,
        event: &Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Written, WriteError> {
        let name = event["metadata"]["name"].as_str().unwrap_or_default();
        let key = ObjectKey::new(namespace, name);
        let events = machinist_api::resource::EVENTS;
        let answer = self.send(&Write::whole(Verb::Create, events, &key, event), plan).await?;
        Ok(if answer.is_some() { Written::Done } else { Written::LeftOut })
    }
}
