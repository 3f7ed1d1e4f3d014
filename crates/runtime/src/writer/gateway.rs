//! Sends writes; nothing else calls [`Session::exchange`] with a body, except for reviews, which store nothing. Nothing
//! is sent without the lease (if one is needed), against a freeze, nor in a dry run, unless the API server is to check
//! the write; no write outlasts the lease; every write leaves one audit line.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use machinist_api::resource::{CORE_EVENTS, EVENTS, LEASES, PODS, Resource, Subresource};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Classified;
use machinist_domain::safety::EffectKind;
use serde_json::Value;

use super::behalf::Behalf;
use super::error::WriteError;
use crate::cluster::Session;
use crate::lease::Leadership;
use crate::metrics::Metrics;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Replace,
    MergePatch,
    /// Only built-in kinds support it.
    StrategicPatch,
    Delete,
}

#[derive(Debug)]
pub(crate) struct Write<'a> {
    verb: Verb,
    resource: Resource,
    key: &'a ObjectKey,
    pub(super) part: Option<Subresource>,
    /// Object, options or patch, with preconditions.
    body: Bytes,
}

impl<'a> Write<'a> {
    pub(crate) fn whole(verb: Verb, resource: Resource, key: &'a ObjectKey, body: &Value) -> Self {
        Self { verb, resource, key, part: None, body: body.to_string().into() }
    }

    fn request(&self) -> (Method, String, &'static str) {
        let ObjectKey { namespace, name } = self.key;
        let object = || match self.part {
            None => self.resource.object_path(namespace, name),
            Some(part) => self.resource.subresource_path(namespace, name, part),
        };
        match self.verb {
            // A subresource is created below an existing object.
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

    /// The verb in audit lines: an eviction is not called a create.
    fn verb(&self) -> &'static str {
        match self.verb {
            Verb::Create if self.part == Some(Subresource::Eviction) => "evict",
            Verb::Create => "create",
            Verb::Replace => "update",
            Verb::MergePatch | Verb::StrategicPatch => "patch",
            Verb::Delete => "delete",
        }
    }

    /// What freezes may stop; `None` for what only records the state: status, Events and Leases.
    pub(super) fn effect(&self) -> Option<EffectKind> {
        match (self.verb, self.part) {
            (_, Some(Subresource::Status)) => None,
            _ if [EVENTS, CORE_EVENTS, LEASES].contains(&self.resource) => None,
            (Verb::Create | Verb::Delete, _) if self.resource == PODS => Some(EffectKind::Evict),
            (Verb::Create, _) => Some(EffectKind::Create),
            (Verb::Delete, _) => Some(EffectKind::Delete),
            (Verb::Replace | Verb::MergePatch | Verb::StrategicPatch, _) => {
                Some(EffectKind::Change)
            }
        }
    }

    /// The resource as RBAC names it.
    fn resource(&self) -> String {
        match self.part {
            None => self.resource.plural.to_owned(),
            Some(part) => format!("{}/{part}", self.resource.plural),
        }
    }
}

/// Who sends a write, and what may stop it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) party: &'static str,
    pub(crate) leadership: &'a Leadership,
    /// On whose behalf, and with what effect; `None` if no freeze stops it.
    pub(crate) freeze: Option<(&'a Behalf, EffectKind)>,
}

#[derive(Debug)]
pub struct Gateway {
    pub(super) dry_run: bool,
    /// In a dry run: whether the API server checks writes.
    checked: bool,
    pub(super) cloud_limit: Duration,
    pub(super) metrics: Arc<Metrics>,
}

impl Gateway {
    /// A gateway; in a dry run it sends nothing. `cloud_limit` bounds calls that change a cloud.
    pub fn new(dry_run: bool, cloud_limit: Duration, metrics: Arc<Metrics>) -> Self {
        Self { dry_run, checked: false, cloud_limit, metrics }
    }

    /// A gateway for a dry run in which the API server checks writes, admission included, and stores none.
    pub fn server_dry_run(cloud_limit: Duration, metrics: Arc<Metrics>) -> Self {
        Self { dry_run: true, checked: true, cloud_limit, metrics }
    }

    pub(crate) async fn send(
        &self,
        session: &Session,
        sender: Sender<'_>,
        write: &Write<'_>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<Bytes>, WriteError> {
        let answer = self.send_if_allowed(session, sender, write).await;
        let party = sender.party;
        let result = match &answer {
            Ok(Some(_)) => "done",
            Ok(None) => "dry-run",
            Err(error) if error.already_exists() => "exists",
            Err(error) if error.disruption_budget().is_some() => "budget",
            Err(error) => error.category().as_str(),
        };
        let (verb, resource, key) = (write.verb(), write.resource(), write.key);
        match answer.as_ref().err().filter(|error| !error.is_ordinary()) {
            // Renewed every few seconds; the elector logs who leads.
            None if write.resource == LEASES => {
                tracing::debug!(target: "audit", party, verb, resource, %key, %plan, result, "write");
            }
            None => {
                tracing::info!(target: "audit", party, verb, resource, %key, %plan, result, "write");
            }
            Some(error) => {
                tracing::warn!(target: "audit", party, verb, resource, %key, %plan, result, %error, "write");
            }
        }
        let kind = write.resource.kind;
        let labels = [("party", party), ("verb", verb), ("kind", kind), ("result", result)];
        self.metrics.writes.get_or_create(&labels).inc();
        answer
    }

    async fn send_if_allowed(
        &self,
        session: &Session,
        sender: Sender<'_>,
        write: &Write<'_>,
    ) -> Result<Option<Bytes>, WriteError> {
        if self.dry_run && !self.checked {
            return Ok(None);
        }
        let Sender { party, leadership, freeze } = sender;
        if let Some((behalf, effect)) = freeze {
            behalf.permit(effect)?;
        }
        let limit = session.request_timeout();
        let (method, mut path, content_type) = write.request();
        if self.dry_run {
            path.push_str("?dryRun=All");
        }
        // The lease is checked directly before the request: the process may have been suspended since `decide`.
        let timeout = leadership.time_left(limit).ok_or(WriteError::NotLeader(party))?;
        let sending = leadership.sending();
        let body = Some((content_type, write.body.clone()));
        let answer = session.exchange(method, &path, "application/json", body, timeout).await;
        if answer.as_ref().err().is_none_or(|error| !error.may_have_happened()) {
            sending.answered();
        }
        // The answer to a dry run has an object that is not stored.
        Ok(Some(answer?).filter(|_| !self.dry_run))
    }
}

#[cfg(test)]
mod tests;
