//! Takes one recycle from look to look until it is over, or until Ctrl-C.
//!
//! The stages are the controller's own. What it would store in a status is kept here, in memory: the tag on the group is enough to begin anew,
//! because every step finds out by itself how far the group is.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_controllers::recycler::recycling::{decide, report};
use machinist_domain::retry::Retry;
use machinist_provider::node_groups::GroupRef;

use super::bench::Bench;
use super::progress::Progress;

/// How a recycle came to its end.
#[derive(Debug)]
pub(in super::super) enum End {
    /// It is over, at this time, well or not.
    Over(Recycle, Timestamp),
    /// Somebody stopped us; the group has its plan in its tags.
    Stopped(Recycle),
}

/// Goes on until there is nothing left to do.
pub(in super::super) async fn drive(
    bench: &Bench,
    mut recycle: Recycle,
    progress: &mut Progress,
) -> End {
    let Bench { recycling, writer, settings, clock, hand, .. } = bench;
    let group = GroupRef::new(recycle.region.as_str(), recycle.group.as_str());
    loop {
        if recycle.step.is_over() {
            recycling.forget(&group);
            return End::Over(recycle, clock.now());
        }
        if hand.stop.is_cancelled() {
            return End::Stopped(recycle);
        }
        let snapshot = match recycling.observe(&recycle, hand.name.clone(), *settings).await {
            Ok(snapshot) => snapshot,
            Err(error) => {
                progress.trouble(&error.to_string());
                rest(bench, settings.poll).await;
                continue;
            }
        };
        let plan = decide(&snapshot, clock.now());
        // What was begun is finished, whoever presses Ctrl-C meanwhile: an answer that nobody waits for is a question.
        let outcome = recycling.act(&snapshot, &plan, hand, writer).await;
        let told = report(&snapshot, &plan, &outcome, clock.now());
        recycle = told.recycle;
        progress.show(&recycle, &snapshot, told.trouble.as_deref());
        let pause = match told.retry {
            None => Duration::ZERO,
            Some(Retry::Again(pause) | Retry::After(pause)) => pause,
            Some(Retry::Soon | Retry::Backoff | Retry::OnChange) => settings.poll,
        };
        rest(bench, pause).await;
    }
}

/// Waits, but not when somebody stops us.
pub(super) async fn rest(bench: &Bench, pause: Duration) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = bench.hand.stop.cancelled() => {}
    }
}
