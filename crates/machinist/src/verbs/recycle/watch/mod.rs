//! `machinist recycle watch`: counts Events and recycles their node groups, without an EventRecycler in the cluster.
//!
//! Input: flags. Output: lines on stdout. Events are counted as the controller does ([`detector`]); a group is recycled
//! as `run` does, one at a time. Events before the start do not count, because no status records whether they were
//! counted. Ctrl-C ends it as it ends `run`.

mod detector;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_api::event_recycler::status::PastRecycle;
use machinist_controllers::recycler::naming::Names;
use machinist_controllers::recycler::plan::Candidate;
use machinist_provider::node_groups::GroupRef;
use machinist_provider::provider::Providers;
use machinist_runtime::shutdown;

use self::detector::Detector;
use super::arguments::{RecycleArguments, WatchArguments};
use super::run::drive::{self, End};
use super::run::preview::PreviewError;
use super::run::progress::Progress;
use super::run::{RecycleContext, command, preview};
use super::{messages, say};
use crate::exit::Stopped;

/// Watches until Ctrl-C.
pub(super) async fn main(
    common: &RecycleArguments,
    arguments: &WatchArguments,
    providers: &Providers,
) -> anyhow::Result<()> {
    let stop = shutdown::on_signal()?;
    let context = RecycleContext::new(common, providers, arguments.how, stop.clone()).await?;
    let mut detector = Detector::new(&context, common.region.as_deref(), arguments).await?;
    let (threshold, window) = (arguments.threshold, arguments.window);
    print(&context, &messages::watching(&arguments.search, threshold, window))?;
    let mut counted = String::new();
    while !stop.is_cancelled() {
        let plan = detector.look(context.clock.now());
        if let Some(found) = &plan.counted {
            let names = Names::among(found.counts.keys());
            let counts = found.counts.iter();
            let counts = counts.map(|(group, count)| format!("{}: {count}", names.of(group)));
            let counts: Vec<_> = counts.collect();
            let line = messages::counts(&counts, found.example.as_deref());
            if line != counted && !line.is_empty() {
                print(&context, &line)?;
            }
            counted = line;
        }
        for Candidate { group, events } in &plan.pretend {
            print(&context, &messages::would_recycle(group, *events))?;
            let entry = past(group, *events, "DryRun", None, context.clock.now());
            detector.settle(group, entry);
        }
        if let Some((group, entry)) = first(&context, &plan.candidates, common, arguments).await? {
            detector.settle(group, entry);
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(arguments.watch_interval) => {}
            () = detector.news() => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(())
}

/// Recycles the first group that can be described, and returns the result.
async fn first<'a>(
    context: &RecycleContext,
    candidates: &'a [Candidate],
    common: &RecycleArguments,
    arguments: &WatchArguments,
) -> anyhow::Result<Option<(&'a GroupRef, PastRecycle)>> {
    for candidate in candidates {
        if let Some(entry) = recycle(context, candidate, common, arguments).await? {
            return Ok(Some((&candidate.group, entry)));
        }
    }
    Ok(None)
}

/// Recycles a group and returns the result for the cool-down; `None` where the group cannot be described, and its
/// counts stay.
async fn recycle(
    context: &RecycleContext,
    candidate: &Candidate,
    common: &RecycleArguments,
    arguments: &WatchArguments,
) -> anyhow::Result<Option<PastRecycle>> {
    let Candidate { group, events } = candidate;
    print(context, &messages::recycling(group, *events))?;
    let preview = match preview::of(context, group, arguments.how.strategy).await {
        Ok(preview) => preview,
        Err(error @ PreviewError::Unreachable { .. }) => {
            print(context, &messages::retried(error))?;
            return Ok(None);
        }
        Err(error) => {
            let why = error.to_string();
            print(context, &why)?;
            return Ok(Some(past(group, *events, "Failed", Some(why), context.clock.now())));
        }
    };
    let mut progress = Progress::new();
    let end = drive::drive(context, preview.recycle, &mut progress).await;
    match end {
        End::Stopped(recycle) => {
            let groups = [recycle.group.as_str()];
            let go_on = command::of(common, &recycle.region, &arguments.how, &groups);
            say(&messages::resumption(&recycle, &go_on));
            Err(anyhow::anyhow!(messages::interrupted(&recycle.group)).context(Stopped))
        }
        End::Over(recycle, now) => {
            print(context, &result(&recycle))?;
            let message = recycle.message.clone().filter(|_| recycle.step == Step::Failed);
            Ok(Some(past(group, *events, recycle.step.as_str(), message, now)))
        }
    }
}

fn result(recycle: &Recycle) -> String {
    match recycle.failure {
        None => messages::recycled(&recycle.group),
        Some(failure) => messages::failed(&recycle.group, failure, recycle.message.as_deref()),
    }
}

fn past(
    group: &GroupRef,
    events: u64,
    status: &str,
    message: Option<String>,
    now: Timestamp,
) -> PastRecycle {
    PastRecycle {
        node_group: Some(group.name.to_string()),
        region: Some(group.region.to_string()),
        timestamp: Some(now.to_string()),
        event_count: i64::try_from(events).ok(),
        status: Some(status.to_owned()),
        message,
        started: None,
    }
}

/// Prints a line with the time to stdout.
fn print(context: &RecycleContext, line: &str) -> std::io::Result<()> {
    let now = context.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ");
    super::super::print(&format!("{now} {line}\n"))
}
