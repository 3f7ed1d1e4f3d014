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
use super::decide::next_query;
use super::node_match::NodeMatch;
use super::plan::Query;
use super::snapshot::{Node, Subject, View};
use super::{Pod, PodAction, messages};
use crate::kinds::NodeRef;

/// The most DaemonSet reads at once.
const READS_AT_ONCE: usize = 8;

pub(super) async fn observe(drainer: &Drainer, subject: Subject) -> View {
    let attempts = drainer.attempts.get(&subject.uid);
    let first_reconcile = attempts.is_none();
    let mut view = View::new(subject, drainer.timings, attempts.unwrap_or_default());
    view.first_reconcile = first_reconcile;
    while let Some(look) = next_query(&view, drainer.clock.now()) {
        match look {
            Query::Node => read_node(drainer, &mut view).await,
            Query::Pods => view.pods = observed(pods(drainer, &view).await),
            Query::DaemonSets => view.orphaned = observed(orphaned(drainer, &view).await),
            Query::Volumes => view.volumes = observed(volumes(drainer, &view).await),
        }
    }
    view
}

fn observed<T>(asked: Result<T, ApiError>) -> Observed<T> {
    asked.map_or_else(|error| Observed::Unknown(error.failure()), Observed::Present)
}

async fn read_node(drainer: &Drainer, view: &mut View) {
    let Some(named) = &view.subject.node_ref else { return };
    let entry = match find_node(drainer, named).await {
        Ok(entry) => entry,
        Err(error) => {
            view.node = Observed::Unknown(error.failure());
            return;
        }
    };
    view.node = match entry {
        Some(Entry::Undecodable(object)) => Observed::Unknown(Failure {
            category: Category::Unexpected,
            retry: Retry::OnChange,
            message: messages::node_undecodable(&object.error),
        }),
        Some(Entry::Known(node)) => match view.subject.match_node(&node) {
            NodeMatch::Ours => {
                if node.is_control_plane() {
                    view.cordoned_peers = cordoned_peers(drainer, &node.meta.key);
                }
                Observed::Present(Node::of(&node))
            }
            NodeMatch::Unclear if !is_past_deadline(drainer, view) => {
                Observed::Unknown(unclear(&node))
            }
            // Another machine has this name now.
            NodeMatch::Unclear | NodeMatch::Other => Observed::Absent,
        },
        None => Observed::Absent,
    };
}

fn is_past_deadline(drainer: &Drainer, view: &View) -> bool {
    view.subject.is_past_deadline(drainer.timings.drain, drainer.clock.now())
}

/// The Node may be another machine's, which must not be drained; it will have a provider ID shortly.
fn unclear(node: &crate::kinds::Node) -> Failure {
    let name = &node.meta.key.name;
    Failure {
        category: Category::Unavailable,
        retry: Retry::Backoff,
        message: messages::node_not_identified(name),
    }
}

/// A Node that is missing in the cache is read live: the process that linked it may have a newer cache.
async fn find_node(
    drainer: &Drainer,
    named: &NodeRef,
) -> Result<Option<Entry<crate::kinds::Node>>, ApiError> {
    let key = ObjectKey::new("", named.name.clone());
    match drainer.nodes.get_certain(&key).await? {
        Some(entry) => Ok(Some(entry)),
        None => drainer.nodes.read_live(&key).await,
    }
}

/// The other cordoned control-plane nodes, sorted.
pub(super) fn cordoned_peers(drainer: &Drainer, own: &ObjectKey) -> Vec<Arc<str>> {
    let peers = drainer.nodes.select(|node| {
        node.unschedulable && node.is_control_plane() && node.meta.key.name != own.name
    });
    let mut names: Vec<_> = peers.into_iter().map(|key| key.name).collect();
    names.sort();
    names
}

async fn pods(drainer: &Drainer, view: &View) -> Result<Vec<Pod>, ApiError> {
    let Some(node) = view.node.present() else { return Ok(Vec::new()) };
    let selector = format!("spec.nodeName={}", node.meta.key.name);
    let pods = drainer.session.list_live::<wire::Pod>(PODS, None, &selector).await?;
    Ok(pods.iter().map(Pod::of).collect())
}

/// Volumes attached to the node, except those of pods that stay.
async fn volumes(drainer: &Drainer, view: &View) -> Result<Vec<Arc<str>>, ApiError> {
    let Some(node) = view.node.present() else { return Ok(Vec::new()) };
    let staying =
        view.actions(drainer.clock.now()).filter(|(_, action)| *action == PodAction::Skip);
    let claims = staying.flat_map(|(pod, _)| pod.claims.iter().map(move |claim| (pod, claim)));
    let claims =
        claims.map(|(pod, claim)| ObjectKey::new(pod.key.namespace.clone(), claim.clone()));
    drainer.attachments.of(node, claims.collect()).await
}

/// The DaemonSets of the node's pods that do not exist.
async fn orphaned(drainer: &Drainer, view: &View) -> Result<BTreeSet<ObjectKey>, ApiError> {
    let pods = view.pods.present().into_iter().flatten();
    let named: BTreeSet<_> = pods.filter_map(|pod| pod.daemon_set.clone()).collect();
    let questions = named.into_iter().map(|set| async move {
        let selector = format!("metadata.name={}", set.name);
        let namespace = Some(&*set.namespace);
        let found = drainer
            .session
            .list_live::<wire::MetadataOnly>(DAEMON_SETS, namespace, &selector)
            .await?;
        Ok::<_, ApiError>(found.is_empty().then_some(set))
    });
    let answers = futures::stream::iter(questions).buffer_unordered(READS_AT_ONCE);
    answers.try_filter_map(async |gone| Ok(gone)).try_collect().await
}
