use std::fmt::Display;

use machinist_api::resource::Resource;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use serde_json::{Value, json};

use super::Writer;
use super::error::WriteError;
use super::gateway::{Verb, Write};
use super::uncertain::PendingWrite;
use crate::cache::Cache;
use crate::cache::kind::Kind;

impl Writer {
    /// Creates an object; kind, namespace and name are filled in. If the name is taken, the key becomes uncertain.
    pub async fn create<K: Kind>(
        &self,
        cache: &Cache<K>,
        key: &ObjectKey,
        object: &Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<Meta>, WriteError> {
        let mut body = object.clone();
        let resource = cache.kind.resource();
        body["apiVersion"] = json!(resource.api_version());
        body["kind"] = json!(resource.kind);
        body["metadata"]["name"] = json!(&*key.name);
        if !key.namespace.is_empty() {
            body["metadata"]["namespace"] = json!(&*key.namespace);
        }
        let pending = PendingWrite::new(cache, key);
        pending.learn(self.send(&Write::whole(Verb::Create, resource, key, &body), plan).await)
    }

    pub(crate) async fn create_event(
        &self,
        events: Resource,
        namespace: &str,
        event: &Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        let name = event["metadata"]["name"].as_str().unwrap_or_default();
        let key = ObjectKey::new(namespace, name);
        let answer = self.send(&Write::whole(Verb::Create, events, &key, event), plan).await?;
        Ok(answer.map(drop))
    }
}
