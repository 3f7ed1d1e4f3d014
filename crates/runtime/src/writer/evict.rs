//! Asks pods to go: by an eviction, which disruption budgets may refuse, or by force.
//!
//! Pods are in no cache (they are listed live), so there is nothing to learn. That a budget refuses is an answer like any other:
//! [`WriteError::disruption_budget`] tells, and the drain decides when to ask again.

use std::fmt::Display;

use machinist_api::resource::{PODS, Subresource};
use machinist_domain::key::{ObjectKey, Uid};
use serde_json::{Value, json};

use super::Writer;
use super::delete::delete_options;
use super::error::WriteError;
use super::gateway::{Verb, Write};

impl Writer {
    /// Asks for the pod with this uid to be evicted; `grace` (in seconds) overrides the pod's own. That it is gone is a success, too. `None`
    /// means that this is a dry run.
    pub async fn evict(
        &self,
        pod: &ObjectKey,
        uid: &Uid,
        grace: Option<u32>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        let body = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": &*pod.namespace, "name": &*pod.name},
            "deleteOptions": delete_options(uid, grace),
        });
        let mut write = Write::whole(Verb::Create, PODS, pod, &body);
        write.part = Some(Subresource::Eviction);
        self.remove_pod(&write, plan).await
    }

    /// Deletes the pod with this uid, whatever budgets say. That it is gone is a success, too. `None` means that this is a dry run.
    pub async fn delete_pod(
        &self,
        pod: &ObjectKey,
        uid: &Uid,
        grace: Option<u32>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        let body: Value = delete_options(uid, grace);
        self.remove_pod(&Write::whole(Verb::Delete, PODS, pod, &body), plan).await
    }

    async fn remove_pod(
        &self,
        write: &Write<'_>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<()>, WriteError> {
        match self.send(write, plan).await.map_err(WriteError::or_replaced) {
            Ok(answer) => Ok(answer.map(drop)),
            Err(error) if error.not_found() => Ok(Some(())),
            Err(error) => Err(error),
        }
    }
}
