//! The one writer: every write to Kubernetes goes through here, whoever wants it.
//!
//! [`gateway`] sends: it asks for the lease, bounds the time by what is left of it, leaves everything out in a dry run, counts, and writes one
//! audit line. [`Writer`] is a controller's door to it: each method builds one kind of write with its preconditions, and
//! tells the cache what came of it. [`error`] says why a write did not happen, or may have.

pub mod error;
pub mod gateway;

use std::fmt::Display;
use std::sync::Arc;

use machinist_domain::annotations::AnnotationChange;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use serde_json::json;

pub use self::error::WriteError;
pub use self::gateway::{Gateway, Verb, Write};
use crate::cache::Cache;
use crate::cache::kind::Kind;
use crate::cluster::Session;
use crate::lease::Leadership;

/// What came of a write that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The API server has it.
    Done,
    /// There was nothing to change.
    Nothing,
    /// It is only a dry run.
    LeftOut,
}

/// A controller's way to write to one cluster.
#[derive(Debug, Clone)]
pub struct Writer {
    gateway: Arc<Gateway>,
    session: Session,
    controller: &'static str,
    leadership: Leadership,
}

impl Writer {
    /// A way to write for `controller`, while `leadership` lasts.
    pub fn new(
        gateway: Arc<Gateway>,
        session: Session,
        controller: &'static str,
        leadership: Leadership,
    ) -> Self {
        Self { gateway, session, controller, leadership }
    }

    /// Sets and removes annotations of an object, if it is still the one that was decided about: both uid and version must match.
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
        // A merge patch removes what it says is null.
        let annotations: serde_json::Map<_, _> =
            change.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
        let body = json!({"metadata": {
            "uid": &*meta.uid.0,
            "resourceVersion": meta.version.to_string(),
            "annotations": annotations,
        }});
        let write = Write {
            verb: Verb::MergePatch,
            resource: K::RESOURCE,
            key: &meta.key,
            body: body.to_string().into(),
        };
        let sent = self.send(&write, plan).await;
        match &sent {
            Ok(Some(answer)) => cache.learn_written(answer),
            Err(error) if error.leaves_doubt() => cache.mark_uncertain(&meta.key),
            Ok(None) | Err(_) => {}
        }
        sent.map(|answer| if answer.is_some() { Written::Done } else { Written::LeftOut })
    }

    /// Creates an Event. What it says is the caller's; how often it may say it, too.
    pub(crate) async fn create_event(
        &self,
        namespace: &str,
        event: &serde_json::Value,
        plan: &(dyn Display + Sync),
    ) -> Result<Written, WriteError> {
        let name = event["metadata"]["name"].as_str().unwrap_or_default();
        let key = ObjectKey::new(namespace, name);
        let write = Write {
            verb: Verb::Create,
            resource: machinist_api::resource::EVENTS,
            key: &key,
            body: event.to_string().into(),
        };
        let answer = self.send(&write, plan).await?;
        Ok(if answer.is_some() { Written::Done } else { Written::LeftOut })
    }

    async fn send(
        &self,
        write: &Write<'_>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<bytes::Bytes>, WriteError> {
        self.gateway.send(&self.session, self.controller, &self.leadership, write, plan).await
    }
}
