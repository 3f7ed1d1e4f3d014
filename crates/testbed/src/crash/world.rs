use std::time::Duration;

use anyhow::{Context, Result};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams},
};
use serde_json::Value;

use super::normalise::Normaliser;
use crate::faults::ApiRequest;
use crate::world::World;

impl World {
    pub async fn objects(&self, kinds: &[ApiResource]) -> Result<Vec<Value>> {
        let mut objects = Vec::new();
        for kind in kinds {
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.client.clone(), &self.namespace, kind);
            let list = api.list(&ListParams::default()).await;
            for mut object in list.with_context(|| format!("listing {}", kind.plural))? {
                // Items of a list do not say what they are.
                object.types.get_or_insert_with(|| kube::api::TypeMeta {
                    api_version: kind.api_version.clone(),
                    kind: kind.kind.clone(),
                });
                objects.push(serde_json::to_value(object)?);
            }
        }
        Ok(objects)
    }

    pub async fn state_of(&self, kinds: &[ApiResource]) -> Result<Value> {
        let objects = self.objects(kinds).await?;
        Ok(Normaliser::new(&self.namespace).normalise(objects))
    }

    /// `None` while a write is under way. Only requests for which `counts` holds are looked at.
    pub(super) fn quiet_for(&self, counts: impl Fn(&ApiRequest) -> bool) -> Option<Duration> {
        let log = self.proxy.log();
        let mut last = Duration::ZERO;
        for entry in log.entries().iter().filter(|entry| counts(&entry.request)) {
            last = last.max(entry.at + entry.took?);
        }
        Some(log.now().saturating_sub(last))
    }
}
