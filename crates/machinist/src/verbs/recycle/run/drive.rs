//! Drives one recycle through the stages of the controller until it is over, or until Ctrl-C.
//!
//! What the controller stores in a status is kept in memory: the mark on the group is enough to resume.

use std::time::Duration;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_controllers::recycler::recycling::{Settings, decide, group_of, report};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Retry;

use super::context::RecycleContext;
use super::progress::Progress;

/// Drives the recycle. One that is not over was interrupted; its plan is in the tags of the group.
pub(in super::super) async fn drive(
    context: &RecycleContext,
    mut recycle: Recycle,
    progress: &mut Progress,
) -> Recycle {
    let RecycleContext { recycling, writer, settings, clock, owner, stop, .. } = context;
    let key = ObjectKey::new("", &**owner);
    // Without calls of another process, and while all are answered, none is executed late.
    let mut answered = recycle.called_until.is_none();
    while !recycle.step.is_over() && !stop.is_cancelled() {
        let late_call = if answered { Duration::ZERO } else { settings.late_call };
        let settings = Settings { late_call, ..*settings };
        let snapshot = match recycling.observe(&recycle, owner.clone(), settings).await {
            Ok(snapshot) => snapshot,
            Err(error) => {
                progress.trouble(&error.to_string());
                rest(context, settings.poll).await;
                continue;
            }
        };
        let plan = decide(&snapshot, clock.now());
        // The plan is only on the group, so only Ctrl-C ends the recycle. A call in flight is finished, so that its
        // result is known.
        let still_wanted = async { Ok(!stop.is_cancelled()) };
        let outcome = recycling.act(&snapshot, &plan, &key, still_wanted, writer).await;
        let reported = report(&snapshot, &plan, &outcome, clock.now());
        recycle = reported.recycle;
        answered &= reported.trouble.is_none();
        progress.show(&recycle, &snapshot, reported.trouble.as_deref());
        let pause = match reported.retry {
            None => Duration::ZERO,
            Some(Retry::Again(pause) | Retry::After(pause)) => pause,
            Some(Retry::Soon | Retry::Backoff | Retry::OnChange) => settings.poll,
        };
        rest(context, pause).await;
    }
    if recycle.step.is_over() {
        recycling.group_cache.forget(&group_of(&recycle));
    }
    recycle
}

pub(super) async fn rest(context: &RecycleContext, pause: Duration) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = context.stop.cancelled() => {}
    }
}
