//! Evicts pods, or deletes them by force. Pods are listed live and not cached.

use std::fmt::Display;

use machinist_api::resource::{PODS, Subresource};
use machinist_domain::key::{ObjectKey, Uid};
use serde_json::json;

use super::Writer;
use super::delete::delete_options;
use super::error::WriteError;
use super::gateway::{Verb, Write};

impl Writer {
    /// Evicts the pod, or with `force` deletes it regardless of budgets; `grace` (seconds) overrides the pod's own. A
    /// pod that is gone is a success.
    pub async fn evict(
        &self,
        pod: &ObjectKey,
        uid: &Uid,
        grace: Option<u32>,
        force: bool,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        let options = delete_options(uid, grace);
        let mut write = Write::whole(Verb::Delete, PODS, pod, &options);
        if !force {
            let body = json!({
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"namespace": &*pod.namespace, "name": &*pod.name},
                "deleteOptions": options,
            });
            write = Write::whole(Verb::Create, PODS, pod, &body);
            write.part = Some(Subresource::Eviction);
        }
        match self.send(&write, plan).await.map_err(WriteError::or_replaced) {
            Ok(answer) => Ok(answer.map(drop)),
            Err(error) if error.not_found() => Ok(Some(())),
            Err(error) => Err(error),
        }
    }
}
