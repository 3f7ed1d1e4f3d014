mod beginning;
mod late;
mod refresh;
mod replace;
mod scale;

use std::sync::Arc;

use crate::drain::Pod;
use machinist_api::event_recycler::recycle::InstanceState;
use machinist_provider::node_groups::{
    InstanceId, Lifecycle, Member, Refresh, RefreshStatus, Sizes, WarmPool,
};

use super::super::begin::{Request, begin as begin_recycle};
use super::super::plan::Termination;
use super::super::samples::*;
use super::super::snapshot::Settings;
use super::*;

pub(super) const THREE: [&str; 3] = ["i-1", "i-2", "i-3"];
pub(super) const ALL: [Strategy; 3] =
    [Strategy::Replace, Strategy::InstanceRefresh, Strategy::ScaleToZero];

/// The action alone.
pub(super) fn decide(snapshot: &Snapshot, now: Timestamp) -> Action {
    super::decide(snapshot, now).action
}

pub(super) fn stored_plan(plan: Action) -> Recycle {
    match plan {
        Action::Store(recycle) => *recycle,
        other => panic!("not stored: {other:?}"),
    }
}

pub(super) fn step(plan: Action) -> Step {
    stored_plan(plan).step
}

pub(super) fn waits_for(plan: &Action) -> &str {
    match plan {
        Action::Wait { why, .. } => why,
        other => panic!("does not wait: {other:?}"),
    }
}

pub(super) fn failed(plan: Action) -> (Step, RecycleFailure, String) {
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
