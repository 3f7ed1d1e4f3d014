//! Sends writes. The only caller of [`Session::write`].
//!
//! Invariants: nothing is sent without the lease (where one is needed), nor in a dry run; no write waits longer for its answer than the lease
//! lasts; every write leaves one audit line, whatever comes of it.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use machinist_api::resource::{Resource, Subresource};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Classified;
use serde_json::Value;

use super::error::WriteError;
use crate::cluster::{ApiError, Session};
use crate::lease::Leadership;
use crate::metrics::Metrics;

/// How to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// A new object.
    Create,
    /// A whole object in place of another, for kinds that are ours alone.
    Replace,
    /// Some fields.
    MergePatch,
    /// Some entries of lists that are merged by a key. Only built-in kinds have such lists.
    StrategicPatch,
    /// No object any more.
    Delete,
}

impl Verb {
    fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "update",
            Self::MergePatch | Self::StrategicPatch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// A write as data.
#[derive(Debug)]
pub struct Write<'a> {
    /// How.
    pub verb: Verb,
    /// What kind.
    pub resource: Resource,
    /// Which object.
    pub key: &'a ObjectKey,
    /// Which part of it; `None` means the whole.
    pub part: Option<Subresource>,
    /// The object, options or patch, preconditions included.
    pub body: Bytes,
}

impl<'a> Write<'a> {
    /// A write of a whole object.
    pub fn whole(verb: Verb, resource: Resource, key: &'a ObjectKey, body: &Value) -> Self {
        Self { verb, resource, key, part: None, body: body.to_string().into() }
    }

    fn request(&self) -> (Method, String, &'static str) {
        let ObjectKey { namespace, name } = self.key;
        let object = || match self.part {
            None => self.resource.object_path(namespace, name),
            Some(part) => self.resource.subresource_path(namespace, name, part),
        };
        match self.verb {
            // A part is created below the object that is there.
            Verb::Create if self.part.is_some() => (Method::POST, object(), "application/json"),
            Verb::Create => {
                let namespace = Some(&**namespace).filter(|name| !name.is_empty());
                (Method::POST, self.resource.collection_path(namespace), "application/json")
            }
            Verb::Replace => (Method::PUT, object(), "application/json"),
            Verb::MergePatch => (Method::PATCH, object(), "application/merge-patch+json"),
            Verb::StrategicPatch => {
                (Method::PATCH, object(), "application/strategic-merge-patch+json")
            }
            Verb::Delete => (Method::DELETE, object(), "application/json"),
        }
    }

    /// The verb as people read it: an eviction is a create for the API server alone.
    fn verb(&self) -> &'static str {
        if self.part == Some(Subresource::Eviction) { "evict" } else { self.verb.as_str() }
    }

    /// What is written, in the words of a role.
    fn resource(&self) -> String {
        match self.part {
            None => self.resource.plural.to_owned(),
            Some(part) => format!("{}/{part}", self.resource.plural),
        }
    }
}

/// Where writes go out.
#[derive(Debug)]
pub struct Gateway {
    dry_run: bool,
    cloud_limit: Duration,
    metrics: Arc<Metrics>,
}

impl Gateway {
    /// A gateway that, in a dry run, sends nothing. A change to a cloud takes no longer than `cloud_limit`.
    pub fn new(dry_run: bool, cloud_limit: Duration, metrics: Arc<Metrics>) -> Self {
        Self { dry_run, cloud_limit, metrics }
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) fn cloud_limit(&self) -> Duration {
        self.cloud_limit
    }

    /// Whether nothing is sent.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Sends a write in the name of `party`. `None` means that it was left out because this is a dry run.
    pub async fn send(
        &self,
        session: &Session,
        party: &'static str,
        leadership: &Leadership,
        write: &Write<'_>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<Bytes>, WriteError> {
        let answer = self.send_if_allowed(session, party, leadership, write).await;
        let result = match &answer {
            Ok(Some(_)) => "done",
            Ok(None) => "dry-run",
            Err(error) if error.already_exists() => "exists",
            Err(error) if error.disruption_budget().is_some() => "budget",
            Err(error) => error.category().as_str(),
        };
        let (verb, resource, key) = (write.verb(), write.resource(), write.key);
        match &answer {
            Ok(_) => {
                tracing::info!(target: "audit", party, verb, resource, %key, %plan, result, "write");
            }
            Err(error) if error.is_ordinary() => {
                tracing::info!(target: "audit", party, verb, resource, %key, %plan, result, "write");
            }
            Err(error) => {
                tracing::warn!(target: "audit", party, verb, resource, %key, %plan, result, %error, "write");
            }
        }
        self.metrics.wrote(party, verb, write.resource, result);
        answer
    }

    async fn send_if_allowed(
        &self,
        session: &Session,
        party: &'static str,
        leadership: &Leadership,
        write: &Write<'_>,
    ) -> Result<Option<Bytes>, WriteError> {
        if self.dry_run {
            return Ok(None);
        }
        let limit = session.request_timeout();
        let (method, path, content_type) = write.request();
        // The lease is looked at last, directly before the request goes out: the process may have slept since it was decided.
        let timeout =
            leadership.time_left(limit).ok_or(WriteError::NotLeader { controller: party })?;
        let body = write.body.clone();
        let sending = leadership.sending();
        let answer = session.write(method, &path, content_type, body, timeout).await;
        if answer.as_ref().err().is_none_or(|error| !error.may_have_happened()) {
            sending.answered();
        }
        Ok(Some(answer.map_err(|error: ApiError| WriteError::Api(error))?))
    }
}
