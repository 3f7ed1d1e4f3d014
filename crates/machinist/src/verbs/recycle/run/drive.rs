//! Drives one recycle through the stages of the controller until it is over, or until Ctrl-C.
//!
//! What the controller stores in a status is kept in memory: the mark on the group is enough to resume.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_controllers::recycler::recycling::{decide, report};
use machinist_domain::retry::Retry;
use machinist_provider::node_groups::GroupRef;

use super::context::RecycleContext;
use super::progress::Progress;

/// How a recycle ended.
#[derive(Debug)]
pub(in super::super) enum End {
    /// It succeeded or failed at this time.
    Over(Recycle, Timestamp),
    /// It was interrupted; the plan is in the tags of the group.
    Stopped(Recycle),
}

/// Drives the recycle to its end.
pub(in super::super) async fn drive(
    context: &RecycleContext,
    mut recycle: Recycle,
    progress: &mut Progress,
) -> End {
    let RecycleContext { recycling, writer, settings, clock, owner, .. } = context;
    let group = GroupRef::new(recycle.region.as_str(), recycle.group.as_str());
    loop {
        if recycle.step.is_over() {
            recycling.forget(&group);
            return End::Over(recycle, clock.now());
        }
        if owner.stop.is_cancelled() {
            return End::Stopped(recycle);
        }
        let snapshot = match recycling.observe(&recycle, owner.name.clone(), *settings).await {
            Ok(snapshot) => snapshot,
            Err(error) => {
                progress.trouble(&error.to_string());
                rest(context, settings.poll).await;
                continue;
            }
        };
        let plan = decide(&snapshot, clock.now());
        // A call in flight is finished after Ctrl-C, so that its result is known.
        let outcome = recycling.act(&snapshot, &plan, owner, writer).await;
        let reported = report(&snapshot, &plan, &outcome, clock.now());
        recycle = reported.recycle;
        progress.show(&recycle, &snapshot, reported.trouble.as_deref());
        let pause = match reported.retry {
            None => Duration::ZERO,
            Some(Retry::Again(pause) | Retry::After(pause)) => pause,
            Some(Retry::Soon | Retry::Backoff | Retry::OnChange) => settings.poll,
        };
        rest(context, pause).await;
    }
}

/// Waits until Ctrl-C at most.
pub(super) async fn rest(context: &RecycleContext, pause: Duration) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = context.owner.stop.cancelled() => {}
    }
}
