//! Reads what the next step needs, one thing after the other: the Node from the cache, the rest live.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use machinist_api::resource::{DAEMON_SETS, PODS};
use machinist_api::wire;
use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::Drainer;
use super::node_match::{NodeMatch, match_node};
use super::snapshot::{Query, Subject, View};
use super::{Pod, PodAction, messages};
use crate::kinds::{Node, NodeRef};

const READS_AT_ONCE: usize = 8;

impl Drainer {
    /// Reads what the next step for `subject` needs. Errors are part of the view.
    pub async fn observe(&self, subject: Subject) -> View {
        let attempts = self.attempts.of(&subject.uid, self.clock.uptime());
        let first_reconcile = attempts.is_none();
        let mut view = View::new(subject, self.timings, attempts.unwrap_or_default());
        view.first_reconcile = first_reconcile;
        while let Some(query) = view.next_query(self.clock.now()) {
            match query {
                Query::Node => {
                    view.node = self.node(&view.subject).await;
                    if let Some(node) = view.node.present().filter(|node| node.is_control_plane()) {
                        view.cordoned_peers = self.cordoned_peers(&node.meta.key);
                    }
                }
                Query::Pods => view.pods = observed(self.pods(&view).await),
                Query::DaemonSets => view.orphaned = observed(self.orphaned(&view).await),
                Query::Volumes => view.volumes = observed(self.volumes(&view).await),
            }
        }
        view
    }

    async fn node(&self, subject: &Subject) -> Observed<Arc<Node>> {
        let Some(named) = &subject.node_ref else { return Observed::Absent };
        let unknown =
            |category, retry, message| Observed::Unknown(Failure { category, retry, message });
        let name = &*named.name;
        let node = match self.find_node(named).await {
            Ok(Some(Entry::Known(node))) => node,
            Ok(Some(Entry::Undecodable(object))) => {
                let message = messages::node_undecodable(name, &object.error);
                return unknown(Category::Unexpected, Retry::OnChange, message);
            }
            Ok(None) => return Observed::Absent,
            Err(error) => {
                let failure = error.failure();
                let message = messages::node_unreadable(name, &failure.message);
                return Observed::Unknown(Failure { message, ..failure });
            }
        };
        let past_deadline = || subject.is_past_deadline(&self.timings, self.clock.now());
        match match_node(named, subject.provider_id.as_deref(), &node) {
            NodeMatch::Ours => Observed::Present(node),
            // It may be another machine's, which must not be drained; it will have a provider ID shortly.
            NodeMatch::Unclear if !past_deadline() => {
                let message = messages::node_not_identified(name);
                unknown(Category::Unavailable, Retry::Backoff, message)
            }
            // Another machine has this name now.
            NodeMatch::Unclear | NodeMatch::Other => Observed::Absent,
        }
    }

    /// A Node that is missing in the cache is read live: the process that linked it may have a newer cache.
    async fn find_node(&self, named: &NodeRef) -> Result<Option<Entry<Node>>, ApiError> {
        let key = ObjectKey::new("", named.name.clone());
        match self.nodes.get_certain(&key).await? {
            Some(entry) => Ok(Some(entry)),
            None => self.nodes.read_live(&key).await,
        }
    }

    pub(super) fn cordoned_peers(&self, own: &ObjectKey) -> Vec<Arc<str>> {
        let peers = self.nodes.select(|node| {
            node.unschedulable && node.is_control_plane() && node.meta.key.name != own.name
        });
        let mut names: Vec<_> = peers.into_iter().map(|key| key.name).collect();
        names.sort();
        names
    }

    async fn pods(&self, view: &View) -> Result<Vec<Pod>, ApiError> {
        let Some(node) = view.node.present() else { return Ok(Vec::new()) };
        let selector = format!("spec.nodeName={}", node.meta.key.name);
        let pods = self.session.list_live::<wire::Pod>(PODS, None, &selector).await?;
        Ok(pods.iter().map(Pod::of).collect())
    }

    async fn volumes(&self, view: &View) -> Result<Vec<Arc<str>>, ApiError> {
        let Some(node) = view.node.present() else { return Ok(Vec::new()) };
        let staying =
            view.actions(self.clock.now()).filter(|(_, action)| *action == PodAction::Skip);
        let claims = staying.flat_map(|(pod, _)| pod.claims.iter().map(move |claim| (pod, claim)));
        let claims =
            claims.map(|(pod, claim)| ObjectKey::new(pod.key.namespace.clone(), claim.clone()));
        self.attachments.of(node, claims.collect()).await
    }

    async fn orphaned(&self, view: &View) -> Result<BTreeSet<ObjectKey>, ApiError> {
        let pods = view.pods.present().into_iter().flatten();
        let named: BTreeSet<_> = pods.filter_map(|pod| pod.daemon_set.clone()).collect();
        let questions = named.into_iter().map(|set| async move {
            let selector = format!("metadata.name={}", set.name);
            let namespace = Some(&*set.namespace);
            let found = self
                .session
                .list_live::<wire::MetadataOnly>(DAEMON_SETS, namespace, &selector)
                .await?;
            Ok::<_, ApiError>(found.is_empty().then_some(set))
        });
        let answers = futures::stream::iter(questions).buffer_unordered(READS_AT_ONCE);
        answers.try_filter_map(async |gone| Ok(gone)).try_collect().await
    }
}

fn observed<T>(asked: Result<T, ApiError>) -> Observed<T> {
    asked.map_or_else(|error| Observed::Unknown(error.failure()), Observed::Present)
}
