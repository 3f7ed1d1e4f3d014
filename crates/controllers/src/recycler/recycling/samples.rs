use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycledInstance, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_api::names::ANNOTATION_DRAIN;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::{Group, InstanceId, Lifecycle, Member, Sizes};
use machinist_runtime::cache::kind::Kind as _;
use serde_json::{Value, json};

use super::plan::{Action, Plan};
use super::snapshot::{Settings, Snapshot};
use crate::drain::{self, Mark as DrainMark, Pod};
use crate::kinds::{Node, NodeRef, Nodes};

pub(super) fn now() -> Timestamp {
    "2026-11-16T02:00:00Z".parse().unwrap()
}

pub(super) fn after(seconds: u64) -> Timestamp {
    now() + Duration::from_secs(seconds)
}

pub(super) fn recycle(strategy: Strategy, ids: &[&str]) -> Recycle {
    let size = u32::try_from(ids.len()).unwrap();
    let instance = |id: &&str| RecycledInstance {
        id: (*id).to_owned(),
        node: None,
        state: InstanceState::Waiting,
        since: None,
    };
    Recycle {
        id: "a1".to_owned(),
        group: "workers".to_owned(),
        region: "r".to_owned(),
        strategy,
        step: Step::Planned,
        original: Sizes { min: 1, max: size + 2, desired: size },
        instances: ids.iter().map(instance).collect(),
        refresh_before: None,
        started: now(),
        step_since: now(),
        called_until: None,
        events: 5,
        failure: None,
        message: None,
    }
}

pub(super) fn member(id: &str) -> Member {
    Member {
        id: InstanceId::from(id),
        lifecycle: Lifecycle::InService,
        healthy: true,
        protected_from_scale_in: false,
        weight: 1,
    }
}

pub(super) fn group(ids: &[&str]) -> Group {
    let size = u32::try_from(ids.len()).unwrap();
    Group {
        name: "workers".into(),
        sizes: Sizes { min: 1, max: size + 2, desired: size },
        members: ids.iter().map(|id| member(id)).collect(),
        suspended: BTreeSet::new(),
        warm_pool: None,
        hooks: Vec::new(),
        mark: None,
        managed_by_eks: false,
        refresh: None,
        deleting: false,
    }
}

fn node_with(id: &str, annotations: &Value, cordoned: bool, ready: &str) -> Arc<Node> {
    let node = json!({
        "metadata": {
            "name": format!("node-of-{id}"), "uid": format!("uid-{id}"), "resourceVersion": "1",
            "annotations": annotations,
        },
        "spec": {"unschedulable": cordoned},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    });
    Arc::new(Nodes.project(serde_json::from_value(node).unwrap()))
}

pub(super) fn node(id: &str) -> Arc<Node> {
    node_with(id, &json!({}), false, "True")
}

pub(super) fn unready_node(id: &str) -> Arc<Node> {
    node_with(id, &json!({}), false, "False")
}

/// A Node that was cordoned, by a drain if it has a mark.
pub(super) fn cordoned_node(id: &str, mark: Option<DrainMark>) -> Arc<Node> {
    let annotations = mark.map_or(json!({}), |mark| json!({ANNOTATION_DRAIN: mark.to_string()}));
    node_with(id, &annotations, true, "True")
}

pub(super) fn snapshot(strategy: Strategy, step: Step, ids: &[&str]) -> Snapshot {
    // Calls of earlier steps were made long ago.
    let called_until = (step != Step::Planned).then(|| now() - Duration::from_secs(3600));
    let recycle = Recycle { step, called_until, ..recycle(strategy, ids) };
    let mut snapshot = Snapshot {
        recycle,
        owner: "recycler/bad-nodes".into(),
        settings: Settings::default(),
        group: Observed::Absent,
        nodes: BTreeMap::new(),
        drains: BTreeMap::new(),
        own_node: None,
        cancelled: false,
    };
    let mark = Some(snapshot.text());
    snapshot.nodes = ids.iter().map(|id| (InstanceId::from(*id), node(id))).collect();
    snapshot.group = Observed::Present(Box::new(Group { mark, ..group(ids) }));
    snapshot
}

pub(super) fn drain_mark(cordoned: bool) -> DrainMark {
    DrainMark { started: now(), cordoned }
}

pub(super) fn drain_view(snapshot: &mut Snapshot, id: &str, pods: Vec<Pod>) {
    let key = InstanceId::from(id);
    let node = cordoned_node(id, Some(drain_mark(true)));
    snapshot.nodes.insert(key.clone(), Arc::clone(&node));
    let subject = drain::Subject {
        uid: node.meta.uid.clone(),
        node_ref: None,
        provider_id: None,
        hooks: Box::default(),
        excluded: false,
        forced: false,
        tainted: false,
        limit: drain::Limit::Default,
        stored: None,
    };
    let timings = MachineTimings::default();
    let mut view = drain::View::new(subject, timings, HashMap::new());
    view.subject.node_ref =
        Some(NodeRef { name: node.meta.key.name.clone(), uid: node.meta.uid.clone() });
    view.node = Observed::Present(node);
    view.pods = Observed::Present(pods);
    view.orphaned = Observed::Present(BTreeSet::new());
    view.volumes = Observed::Present(Vec::new());
    snapshot.drains.insert(key, view);
}

pub(super) fn without_drains(action: Action) -> Plan {
    Plan { action, drains: BTreeMap::new() }
}

impl Snapshot {
    pub(super) fn group_mut(&mut self) -> &mut Group {
        match &mut self.group {
            Observed::Present(group) => group,
            _ => unreachable!("the samples have a group"),
        }
    }

    pub(super) fn on_node(mut self, name: &str) -> Self {
        self.own_node = Some(Arc::from(name));
        self
    }
}
