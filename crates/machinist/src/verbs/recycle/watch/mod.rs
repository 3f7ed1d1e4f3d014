//! `machinist recycle watch`: counts Events and recycles the node groups behind them, without an EventRecycler in the cluster.
//!
//! In: what to look for, as flags. Out: lines on stdout that say what was counted and done. What counts, and which group is next, is decided
//! as the controller does it ([`lookout`]); a group is recycled as `run` does it, one at a time.
//!
//! What happened before the start does not count: there is no status in which it could stand that it was counted already. Ctrl-C ends
//! it; a recycle that is under way is left as `run` leaves it.

mod lookout;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_api::event_recycler::status::PastRecycle;
use machinist_controllers::recycler::naming::Names;
use machinist_controllers::recycler::plan::Begin;
use machinist_provider::node_groups::GroupRef;
use machinist_provider::provider::Providers;
use machinist_runtime::shutdown;

use self::lookout::Lookout;
use super::arguments::{RecycleArguments, WatchArguments};
use super::run::drive::{self, End};
use super::run::progress::Progress;
use super::run::prospect::Objection;
use super::run::{Bench, command, prospect, resumption};
use super::say;
use crate::exit::Stopped;

/// Watches until Ctrl-C.
pub(super) async fn main(
    common: &RecycleArguments,
    arguments: &WatchArguments,
    providers: &Providers,
) -> anyhow::Result<()> {
    let stop = shutdown::on_signal()?;
    let bench = Bench::new(common, providers, arguments.how, stop.clone()).await?;
    let mut lookout = Lookout::new(&bench, common.region.as_deref(), arguments).await?;
    let terms = arguments.search.join("\", \"");
    let (threshold, window) = (arguments.threshold, arguments.window);
    tell(&bench, &format!("watching for \"{terms}\": {threshold} within {window:?} are too many"))?;
    let mut counted = String::new();
    while !stop.is_cancelled() {
        let plan = lookout.look(bench.clock.now());
        if let Some(found) = &plan.counted {
            let names = Names::among(found.counts.keys());
            let counts = found.counts.iter();
            let counts = counts.map(|(group, count)| format!("{}: {count}", names.of(group)));
            let counts: Vec<_> = counts.collect();
            let mut line = counts.join(", ");
            if let Some(example) = &found.example {
                line.extend(["; leads nowhere yet: ", example]);
            }
            if line != counted && !line.is_empty() {
                tell(&bench, &line)?;
            }
            counted = line;
        }
        for Begin { group, events } in &plan.pretend {
            tell(&bench, &format!("{events} events: would recycle {group} (dry run)"))?;
            let entry = past(group, *events, "DryRun", None, bench.clock.now());
            lookout.settle(group, entry);
        }
        if let Some((group, entry)) = first(&bench, &plan.begin, common, arguments).await? {
            lookout.settle(group, entry);
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(arguments.watch_interval) => {}
            () = lookout.news() => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(())
}

/// Recycles the first group that anything can be said about; what became of it.
async fn first<'a>(
    bench: &Bench,
    groups: &'a [Begin],
    common: &RecycleArguments,
    arguments: &WatchArguments,
) -> anyhow::Result<Option<(&'a GroupRef, PastRecycle)>> {
    for begin in groups {
        if let Some(entry) = recycle(bench, begin, common, arguments).await? {
            return Ok(Some((&begin.group, entry)));
        }
    }
    Ok(None)
}

/// Recycles a group; what became of it, for the cool-down. Nothing where it cannot be looked at: it is tried again, and what was counted for it stays.
async fn recycle(
    bench: &Bench,
    begin: &Begin,
    common: &RecycleArguments,
    arguments: &WatchArguments,
) -> anyhow::Result<Option<PastRecycle>> {
    let Begin { group, events } = begin;
    tell(bench, &format!("{events} events: recycling {group}"))?;
    let prospect = match prospect::of(bench, group, arguments.how.strategy).await {
        Ok(prospect) => prospect,
        Err(unseen @ Objection::Unseen { .. }) => {
            tell(bench, &format!("{unseen}; it is tried again"))?;
            return Ok(None);
        }
        Err(Objection::Refused(why)) => {
            tell(bench, &format!("{group} is left alone: {why}"))?;
            return Ok(Some(past(group, *events, "Failed", Some(why), bench.clock.now())));
        }
    };
    let mut progress = Progress::new();
    let end = drive::drive(bench, prospect.recycle, &mut progress).await;
    match end {
        End::Stopped(recycle) => {
            let groups = [recycle.group.as_str()];
            let go_on = command::of(common, &recycle.region, &arguments.how, &groups);
            say(&resumption(&recycle, &go_on));
            let problem = anyhow::anyhow!("stopped while {} was recycled", recycle.group);
            Err(problem.context(Stopped))
        }
        End::Over(recycle, now) => {
            tell(bench, &told(&recycle))?;
            let message = recycle.message.clone().filter(|_| recycle.step == Step::Failed);
            Ok(Some(past(group, *events, recycle.step.as_str(), message, now)))
        }
    }
}

fn told(recycle: &Recycle) -> String {
    match recycle.failure {
        None => format!("{} is recycled", recycle.group),
        Some(failure) => {
            let why = recycle.message.as_deref().unwrap_or_default();
            format!("{} was given up ({}): {why}", recycle.group, failure.as_str())
        }
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

/// A line on stdout, with the time.
fn tell(bench: &Bench, line: &str) -> std::io::Result<()> {
    let now = bench.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ");
    super::super::print(&format!("{now} {line}\n"))
}
