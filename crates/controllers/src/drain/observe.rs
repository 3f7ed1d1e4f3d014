//! Looks at one thing after the other, as far as the next step needs it: the Node in the cache, everything else live.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Pod, PodAction};
use futures::{StreamExt as _, TryStreamExt as _};
use machinist_api::resource::{DAEMON_SETS, PODS};
use machinist_api::wire;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::Drainer;
use super::decide::next_query;
use super::node_match::NodeMatch;
use super::plan::Query;
use super::snapshot::{Node, Sight, Subject, View};
use crate::kinds::NodeRef;

/// How many DaemonSets are asked for at once.
const QUESTIONS_AT_ONCE: usize = 8;

pub(super) async fn observe(drainer: &Drainer, subject: Subject) -> View {
    let attempts = drainer.attempts.get(&subject.uid);
    let first_reconcile = attempts.is_none();
    let mut view = View::new(subject, drainer.timings, attempts.unwrap_or_default());
    view.first_reconcile = first_reconcile;
    while let Some(look) = next_query(&view, drainer.clock.now()) {
        match look {
            Query::Node => look_at_node(drainer, &mut view).await,
            Query::Pods => view.pods = sight(pods(drainer, &view).await),
            Query::DaemonSets => view.orphaned = sight(orphaned(drainer, &view).await),
            Query::Volumes => view.volumes = sight(volumes(drainer, &view).await),
        }
    }
    view
}

fn sight<T>(asked: Result<T, ApiError>) -> Sight<T> {
    asked.map_or_else(|error| Sight::Unknown(error.failure()), Sight::Known)
}

async fn look_at_node(drainer: &Drainer, view: &mut View) {
    let Some(named) = &view.subject.node_ref else { return };
    let entry = match find_node(drainer, named).await {
        Ok(entry) => entry,
        Err(error) => {
            view.node = Sight::Unknown(error.failure());
            return;
        }
    };
    view.node = match entry {
        Some(Entry::Undecodable(object)) => Sight::Unknown(Failure {
            category: Category::Unexpected,
            retry: Retry::OnChange,
            message: format!("the Node cannot be decoded: {}", object.error),
        }),
        Some(Entry::Known(node)) => match view.subject.match_node(&node) {
            NodeMatch::Ours => {
                if node.is_control_plane() {
                    view.cordoned_peers = cordoned_peers(drainer, &node.meta.key);
                }
                Sight::Known(Some(Node::of(&node)))
            }
            NodeMatch::Unclear if !is_past_deadline(drainer, view) => {
                Sight::Unknown(unclear(&node))
            }
            // Another computer has its name now.
            NodeMatch::Unclear | NodeMatch::Other => Sight::Known(None),
        },
        None => Sight::Known(None),
    };
}

fn is_past_deadline(drainer: &Drainer, view: &View) -> bool {
    view.subject.is_past_deadline(drainer.timings.drain, drainer.clock.now())
}

/// Draining it might empty somebody else's computer, and not draining it might stop pods that nobody asked: it will say more in a moment.
fn unclear(node: &crate::kinds::Node) -> Failure {
    let name = &node.meta.key.name;
    Failure {
        category: Category::Unavailable,
        retry: Retry::Backoff,
        message: format!("node {name} was registered anew and does not say on which instance"),
    }
}

/// That a Node is not in the cache is no proof: whoever linked it may have seen more than this cache.
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

/// The other control-plane nodes that are cordoned, in order.
pub(super) fn cordoned_peers(drainer: &Drainer, own: &ObjectKey) -> Vec<Arc<str>> {
    let peers = drainer.nodes.select(|node| {
        node.unschedulable && node.is_control_plane() && node.meta.key.name != own.name
    });
    let mut names: Vec<_> = peers.into_iter().map(|key| key.name).collect();
    names.sort();
    names
}

async fn pods(drainer: &Drainer, view: &View) -> Result<Vec<Pod>, ApiError> {
    let Some(Some(node)) = view.node.known() else { return Ok(Vec::new()) };
    let selector = format!("spec.nodeName={}", node.meta.key.name);
    let pods = drainer.session.list_live::<wire::Pod>(PODS, None, &selector).await?;
    Ok(pods.iter().map(Pod::of).collect())
}

/// The volumes that are attached to the node, apart from those of pods that stay.
async fn volumes(drainer: &Drainer, view: &View) -> Result<Vec<Arc<str>>, ApiError> {
    let Some(Some(node)) = view.node.known() else { return Ok(Vec::new()) };
    let staying =
        view.actions(drainer.clock.now()).filter(|(_, action)| *action == PodAction::Skip);
    let claims = staying.flat_map(|(pod, _)| pod.claims.iter().map(move |claim| (pod, claim)));
    let claims =
        claims.map(|(pod, claim)| ObjectKey::new(pod.key.namespace.clone(), claim.clone()));
    drainer.attachments.of(node, claims.collect()).await
}

/// The DaemonSets of the node's pods that do not exist.
async fn orphaned(drainer: &Drainer, view: &View) -> Result<BTreeSet<ObjectKey>, ApiError> {
    let pods = view.pods.known().into_iter().flatten();
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
    let answers = futures::stream::iter(questions).buffer_unordered(QUESTIONS_AT_ONCE);
    answers.try_filter_map(async |gone| Ok(gone)).try_collect().await
}
