//! `machinist recycle watch`: counts Events and recycles their node groups, without an EventRecycler in the cluster.
//!
//! Events are counted as the controller does ([`detector`]); a group is recycled as `run` does, one at a time. Events
//! before the start do not count, because no status records whether they were counted. Ctrl-C ends it as it ends `run`.

mod detector;

use jiff::Timestamp;
use machinist_controllers::recycler::{Candidate, Names};
use machinist_provider::provider::Providers;
use machinist_runtime::shutdown;

use self::detector::Detector;
use super::arguments::{RecycleArguments, WatchArguments};
use super::run::drive::drive;
use super::run::preview::PreviewError;
use super::run::progress::Progress;
use super::run::{RecycleContext, command, confirm, preview};
use super::{messages, print_line};
use crate::exit::Stopped;
use crate::terminal::Printable;

pub(super) async fn main(
    common: &RecycleArguments,
    arguments: &WatchArguments,
    providers: &Providers,
) -> anyhow::Result<()> {
    let stop = shutdown::on_signal()?;
    let (threshold, window, by) =
        (arguments.threshold, arguments.window, arguments.count_by.into());
    if !arguments.dry_run && !arguments.yes {
        let how = messages::strategy(arguments.how.strategy.into());
        confirm(&messages::watch_recycles(threshold, by, window, how))?;
    }
    let context = RecycleContext::new(common, providers, arguments.how, stop.clone()).await?;
    let mut detector = Detector::new(&context, common.region.as_deref(), arguments).await?;
    print(&context, &messages::watching(&arguments.search, threshold, by, window))?;
    let mut counted = String::new();
    'look: while !stop.is_cancelled() {
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
            print(&context, &messages::would_recycle(group, *events, by))?;
            detector.settle(group, "DryRun", context.clock.now());
        }
        for candidate in &plan.candidates {
            if let Some(result) = recycle(&context, candidate, common, arguments).await? {
                detector.settle(&candidate.group, result, context.clock.now());
                continue 'look;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(arguments.watch_interval) => {}
            () = detector.news.notified() => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(())
}

/// The result is for the cool-down; `None` where the group cannot be described, and its counts stay.
async fn recycle(
    context: &RecycleContext,
    candidate: &Candidate,
    common: &RecycleArguments,
    arguments: &WatchArguments,
) -> anyhow::Result<Option<&'static str>> {
    let Candidate { group, events } = candidate;
    print(context, &messages::recycling(group, *events, arguments.count_by.into()))?;
    let preview = match preview::of(context, group, arguments.how.strategy).await {
        Ok(preview) => preview,
        Err(error @ PreviewError::Unreachable { .. }) => {
            print(context, &messages::retried(error))?;
            return Ok(None);
        }
        Err(error) => {
            print(context, &error.to_string())?;
            return Ok(Some("Failed"));
        }
    };
    let recycle = drive(context, preview.recycle, &mut Progress::new()).await;
    if !recycle.step.is_over() {
        let groups = [recycle.group.as_str()];
        let go_on = command::of(common, &recycle.region, &arguments.how, &groups);
        print_line(&messages::resumption(&recycle, &go_on));
        return Err(anyhow::anyhow!(messages::interrupted(&recycle.group)).context(Stopped));
    }
    let result = messages::failure(&recycle);
    print(context, &result.unwrap_or_else(|| messages::recycled(&recycle.group)))?;
    Ok(Some(recycle.step.as_str()))
}

/// Prints a line with the time to stdout.
fn print(context: &RecycleContext, line: &str) -> std::io::Result<()> {
    super::super::print(&stamped(context.clock.now(), line))
}

fn stamped(now: Timestamp, line: &str) -> Printable {
    Printable::lines(&format!("{} {line}\n", now.strftime("%Y-%m-%dT%H:%M:%SZ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[test]
    fn lines_have_the_time_and_do_not_control_the_terminal() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(stamped(now, "counted").to_string(), "1970-01-01T00:00:00Z counted\n");
        assert_harmless(&stamped(now, HOSTILE));
    }
}
