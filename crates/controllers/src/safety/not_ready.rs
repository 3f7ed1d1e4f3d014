//! How many Nodes are not ready, of those that have been ready. Everything is read from the Node, so that every process
//! counts the same, also after a restart.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::Uid;
use machinist_domain::machine::Phase;
use machinist_domain::safety::{Gauge, Reason};
use machinist_runtime::cache::store::{Change, Entry};
use machinist_runtime::cache::{AnyCache, Cache};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::freezes::monitors::Recount;

use crate::kinds::{Machine, Machines, Node, NodeRef, Nodes};

/// Counts the Nodes of Machines. A Machine that is being deleted does not count, because that was asked for, nor one
/// that has failed: its Node is silent because it has no instance.
pub(crate) fn count_nodes_of_machines(
    shared: &Arc<Shared>,
    machines: &Arc<Cache<Machines>>,
    nodes: &Arc<Cache<Nodes>>,
) {
    let caches: Vec<Arc<dyn AnyCache>> = vec![Arc::clone(machines) as _, Arc::clone(nodes) as _];
    let joining = shared.timings.freezes.joining;
    let (of_machines, all) = (Arc::clone(machines), Arc::clone(nodes));
    let count = move || {
        let linked = linked(&of_machines);
        let is_linked = |node: &Node| {
            let uid = linked.get(&*node.meta.key.name);
            uid.is_some_and(|uid| uid.0.is_empty() || *uid == node.meta.uid)
        };
        gauge(&all, is_linked, joining)
    };
    let (reason, what) = (Reason::NodesNotReady, "Nodes of Machines");
    let recount = shared.freezes.count(&shared.tasks, reason, what, caches, count);
    let Some(recount) = recount else { return };
    recount_with(nodes, recount.clone(), joining);
    machines.subscribe(move |change| {
        if link(change.before) != link(change.after) {
            recount.request();
        }
    });
}

/// Counts all Nodes, for controllers that delete machines without a Machine.
pub(crate) fn count_nodes(shared: &Arc<Shared>, nodes: &Arc<Cache<Nodes>>) {
    let joining = shared.timings.freezes.joining;
    let all = Arc::clone(nodes);
    let count = move || gauge(&all, |_| true, joining);
    let reason = Reason::NodesNotReady;
    let caches: Vec<Arc<dyn AnyCache>> = vec![Arc::clone(nodes) as _];
    if let Some(recount) = shared.freezes.count(&shared.tasks, reason, "Nodes", caches, count) {
        recount_with(nodes, recount, joining);
    }
}

/// Heartbeats change no count.
fn recount_with(nodes: &Cache<Nodes>, recount: Recount, joining: Duration) {
    nodes.subscribe(move |change: &Change<'_, Node>| {
        let state = |entry: Option<&Entry<Node>>| {
            entry.and_then(Entry::known).and_then(|node| state(node, joining))
        };
        if state(change.before) != state(change.after) {
            recount.request();
        }
    });
}

/// The Node of a Machine that is not being deleted, and of which an instance is expected.
fn link(entry: Option<&Entry<Machine>>) -> Option<&NodeRef> {
    let machine = entry?.known()?;
    let ends = machine.meta.deleting || machine.status.phase == Some(Phase::Failed);
    machine.status.node_ref.as_ref().filter(|_| !ends)
}

fn linked(machines: &Cache<Machines>) -> HashMap<Arc<str>, Uid> {
    machines.survey(|_, all| {
        let links = all.filter_map(|entry| link(Some(entry)));
        links.map(|node| (Arc::clone(&node.name), node.uid.clone())).collect()
    })
}

fn gauge(nodes: &Cache<Nodes>, counts: impl Fn(&Node) -> bool, joining: Duration) -> Gauge {
    nodes.survey(|_, all| {
        let mut gauge = Gauge { count: 0, total: 0 };
        let nodes = all.filter_map(Entry::known).filter(|node| counts(node));
        for is_ready in nodes.filter_map(|node| state(node, joining)) {
            gauge.total += 1;
            gauge.count += usize::from(!is_ready);
        }
        gauge
    })
}

/// Whether it is ready; `None` if it does not count: it has not been ready yet, or its instance ends anyway.
pub(super) fn state(node: &Node, joining: Duration) -> Option<bool> {
    let is_ready = node.is_ready();
    let changed = || {
        let joined = node.created.checked_add(joining).ok()?;
        node.readiness.since.filter(|since| *since >= joined)
    };
    let has_been_ready = is_ready || changed().is_some();
    (has_been_ready && !node.is_terminating()).then_some(is_ready)
}

#[cfg(test)]
mod tests {
    use machinist_runtime::cache::kind::Kind as _;
    use serde_json::json;

    use super::*;

    const JOINING: Duration = Duration::from_secs(60);

    /// Created at noon; its condition Ready has this status since so many seconds after noon.
    fn node(status: &str, since: u32, terminating: &str) -> Node {
        let since = format!("2026-06-01T12:{:02}:{:02}Z", since / 60, since % 60);
        let object = json!({
            "metadata": {"name": "n", "creationTimestamp": "2026-06-01T12:00:00Z"},
            "status": {"conditions": [
                {"type": "Ready", "status": status, "lastTransitionTime": since},
                {"type": "Terminating", "status": terminating},
            ]},
        });
        Nodes.project(serde_json::from_str(&object.to_string()).unwrap())
    }

    #[test]
    fn nodes_that_have_been_ready_count_unless_their_instance_ends_anyway() {
        for (status, since, terminating, expected) in [
            ("True", 0, "False", Some(true)),
            ("True", 600, "False", Some(true)),
            ("False", 0, "False", None),
            ("False", 59, "False", None),
            ("False", 60, "False", Some(false)),
            ("Unknown", 600, "False", Some(false)),
            ("Unknown", 600, "True", None),
            ("True", 600, "True", None),
        ] {
            let node = node(status, since, terminating);
            assert_eq!(state(&node, JOINING), expected, "{status} {since} {terminating}");
        }
        let bare = json!({"metadata": {"name": "n"}});
        let bare = Nodes.project(serde_json::from_str(&bare.to_string()).unwrap());
        assert_eq!(state(&bare, JOINING), None, "a Node without conditions");
    }
}
