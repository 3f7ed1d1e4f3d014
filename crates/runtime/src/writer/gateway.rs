//! Sends writes. The only caller of [`Session::write`].
//!
//! Invariants: nothing is sent without the lease (where one is needed), nor in a dry run; no write waits longer for its answer than the lease
//! lasts; every write leaves one audit line, whatever comes of it.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use machinist_api::resource::Resource;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Classified;

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
}

impl Verb {
    fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "update",
            Self::MergePatch => "patch",
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
    /// The object or patch, preconditions included.
    pub body: Bytes,
}

impl Write<'_> {
    fn request(&self) -> (Method, String, &'static str) {
        let object = || self.resource.object_path(&self.key.namespace, &self.key.name);
        match self.verb {
            Verb::Create => {
                let namespace = Some(&*self.key.namespace).filter(|name| !name.is_empty());
                (Method::POST, self.resource.collection_path(namespace), "application/json")
            }
            Verb::Replace => (Method::PUT, object(), "application/json"),
            Verb::MergePatch => (Method::PATCH, object(), "application/merge-patch+json"),
        }
    }
}

/// Where writes go out.
#[derive(Debug)]
pub struct Gateway {
    dry_run: bool,
    metrics: Arc<Metrics>,
}

impl Gateway {
    /// A gateway that, in a dry run, sends nothing.
    pub fn new(dry_run: bool, metrics: Arc<Metrics>) -> Self {
        Self { dry_run, metrics }
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
            Err(error) => error.category().as_str(),
        };
        let (verb, resource, key) = (write.verb.as_str(), write.resource.plural, write.key);
        match &answer {
            Ok(_) => {
                tracing::info!(target: "audit", party, verb, resource, %key, %plan, result, "write");
            }
            // Somebody has done it before, most likely ourselves.
            Err(error) if error.already_exists() => {
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
