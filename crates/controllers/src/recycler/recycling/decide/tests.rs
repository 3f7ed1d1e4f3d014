mod beginning;
mod refresh;
mod replace;
mod scale;

use std::collections::HashMap;
use std::sync::Arc;

use crate::drain::Pod;
use machinist_api::event_recycler::recycle::InstanceState;
use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::node_groups::{
    InstanceId, Lifecycle, Member, Refresh, RefreshStatus, Sizes, WarmPool,
};

use super::super::begin::{Request, begin as begin_recycle};
use super::super::plan::Termination;
use super::super::samples::*;
use super::super::snapshot::Settings;
use super::*;
use crate::drain;
use machinist_domain::observed::Observed;

pub(super) const THREE: [&str; 3] = ["i-1", "i-2", "i-3"];
pub(super) const ALL: [Strategy; 3] =
    [Strategy::Replace, Strategy::InstanceRefresh, Strategy::ScaleToZero];

pub(super) fn stored_plan(plan: Plan) -> Recycle {
    match plan {
        Plan::Store(recycle) => *recycle,
        other => panic!("not stored: {other:?}"),
    }
}

pub(super) fn step(plan: Plan) -> Step {
    stored_plan(plan).step
}

pub(super) fn waits_for(plan: &Plan) -> &str {
    match plan {
        Plan::Wait { why, .. } => why,
        other => panic!("does not wait: {other:?}"),
    }
}

pub(super) fn failed(plan: Plan) -> (Step, RecycleFailure, String) {
    let recycle = stored_plan(plan);
    (recycle.step, recycle.failure.unwrap(), recycle.message.unwrap())
}

pub(super) fn set(snapshot: &mut Snapshot, id: &str, state: InstanceState) {
    let since = snapshot.recycle.step_since;
    for one in snapshot.recycle.instances.iter_mut().filter(|one| one.id == id) {
        (one.state, one.since) = (state, Some(since));
    }
}

pub(super) fn replacing() -> Snapshot {
    snapshot(Strategy::Replace, Step::Replacing, &THREE)
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
        stored: None,
    };
    let timings = MachineTimings { drain: Duration::MAX, ..MachineTimings::default() };
    let mut view = drain::View::new(subject, timings, HashMap::new());
    view.subject.node_ref = Some(crate::kinds::NodeRef {
        name: node.meta.key.name.clone(),
        uid: node.meta.uid.clone(),
    });
    view.node = Observed::Present(node);
    view.pods = Observed::Present(pods);
    view.orphaned = Observed::Present(std::collections::BTreeSet::new());
    view.volumes = Observed::Present(Vec::new());
    snapshot.drains.insert(key, view);
}

pub(super) fn pod() -> Pod {
    let wire = serde_json::json!({
        "metadata": {"name": "p", "namespace": "d", "uid": "u"}, "status": {"phase": "Running"},
    });
    Pod::of(&serde_json::from_value(wire).unwrap())
}

pub(super) fn refresh(id: &str, status: RefreshStatus) -> Refresh {
    Refresh { id: Arc::from(id), status, percentage: 30, reason: Some("because".to_owned()) }
}

#[test]
fn a_dry_run_rests_at_every_step() {
    let steps =
        [Step::Planned, Step::Replacing, Step::ScalingDown, Step::Restoring, Step::Unmarking];
    for step in steps {
        let mut base = snapshot(Strategy::ScaleToZero, step, &THREE);
        base.settings.dry_run = true;
        assert!(waits_for(&decide(&base, after(9999))).contains("dryRun"));
    }
}
