//! `machinist recycle run`: recycles node groups, one after the other, as the controller does.
//!
//! In: names of groups. Out: a question on the terminal that shows what will happen ([`prospect`]), progress on stderr ([`progress`]), and for every group
//! what came of it on stdout. [`drive`] takes one recycle from look to look, by the same decisions as the controller.
//!
//! The plan is stored on the group as a tag, and nowhere else. Whoever runs the same command again goes on from there: after Ctrl-C, after a
//! crash, on another machine. The first group that is given up ends the run.

mod bench;
pub(super) mod command;
pub(super) mod drive;
pub(super) mod progress;
pub(super) mod prospect;

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};
use machinist_api::event_recycler::recycle::Recycle;
use machinist_provider::node_groups::GroupRef;
use machinist_provider::provider::Providers;
use machinist_runtime::shutdown;
use serde::Serialize;

pub(super) use self::bench::Bench;
use self::drive::End;
use self::progress::Progress;
use self::prospect::Prospect;
use super::arguments::{RecycleArguments, RunArguments};
use super::table::table;
use super::{say, show};
use crate::exit::{Stopped, Usage};

/// What came of one group, as programs see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    group: String,
    region: String,
    result: &'static str,
    instances: usize,
    seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Recycles.
pub(super) async fn main(
    common: &RecycleArguments,
    arguments: &RunArguments,
    providers: &Providers,
) -> anyhow::Result<()> {
    let stop = shutdown::on_signal()?;
    let bench = Bench::new(common, providers, arguments.how, stop.clone()).await?;
    let mut prospects = Vec::new();
    for name in &arguments.groups {
        let group = GroupRef::new(bench.region.as_str(), name.as_str());
        prospects.push(prospect::of(&bench, &group, arguments.how.strategy).await?);
    }
    if arguments.dry_run {
        let shown: Vec<_> = prospects.iter().map(Prospect::shown).collect();
        return show(arguments.output, &shown, || prospect::as_text(&prospects));
    }
    if !arguments.yes {
        confirm(&prospects)?;
    }
    let mut results = Vec::new();
    let mut given_up = None;
    let count = prospects.len();
    for prospect in prospects {
        let group = prospect.recycle.group.clone();
        let mut progress = Progress::new();
        let recycle = match prospect.in_turn(&bench, &mut progress).await {
            Ok(recycle) => recycle,
            Err(objection) => {
                given_up = Some(objection.to_string());
                break;
            }
        };
        let end = drive::drive(&bench, recycle, &mut progress).await;
        if let End::Stopped(recycle) = &end {
            let rest = arguments.groups.iter().skip_while(|name| **name != group);
            let rest: Vec<_> = rest.map(String::as_str).collect();
            let mut go_on = command::of(common, &recycle.region, &arguments.how, &rest);
            go_on.push_str(&command::how_to_print(arguments));
            say(&resumption(recycle, &go_on));
            tell(arguments, &results)?;
            return Err(anyhow::anyhow!("stopped while {group} was recycled").context(Stopped));
        }
        let result = Verdict::of(&end);
        given_up = result.reason.clone().filter(|_| result.result == "Failed");
        results.push(result);
        if given_up.is_some() {
            break;
        }
    }
    tell(arguments, &results)?;
    let done = results.iter().filter(|result| result.reason.is_none()).count();
    match given_up {
        Some(reason) => bail!("{done} of {count} groups recycled; then: {reason}"),
        None => Ok(()),
    }
}

/// Prints what came of the groups, if anything did.
fn tell(arguments: &RunArguments, results: &[Verdict]) -> anyhow::Result<()> {
    if results.is_empty() {
        return Ok(());
    }
    show(arguments.output, results, || as_table(results))
}

/// Asks, on the terminal, whether this is what is wanted.
fn confirm(prospects: &[Prospect]) -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() {
        let problem = anyhow::anyhow!("stdin is no terminal to ask on: say --yes, or --dry-run");
        return Err(problem.context(Usage));
    }
    let mut stderr = std::io::stderr();
    write!(stderr, "{}\nGo on? [y/N] ", prospect::as_text(prospects))?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("stdin")?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(anyhow::anyhow!("not confirmed").context(Usage))
}

/// What is left behind after Ctrl-C, and the command that goes on.
pub(super) fn resumption(recycle: &Recycle, go_on: &str) -> String {
    let (group, step) = (&recycle.group, recycle.step.as_str());
    format!(
        "Stopped. {group} is in the middle of a recycle ({step}); its plan is stored in its tags.\n\
         Go on with: {go_on}"
    )
}

impl Verdict {
    fn of(end: &End) -> Self {
        let (recycle, ended) = match end {
            End::Over(recycle, at) => (recycle, *at),
            End::Stopped(recycle) => (recycle, recycle.step_since),
        };
        let seconds = ended.duration_since(recycle.started).as_secs();
        let reason = recycle.failure.map(|failure| {
            let message = recycle.message.as_deref().unwrap_or_default();
            format!("{} was given up ({}): {message}", recycle.group, failure.as_str())
        });
        Self {
            group: recycle.group.clone(),
            region: recycle.region.clone(),
            result: recycle.step.as_str(),
            instances: recycle.instances.len(),
            seconds,
            reason,
        }
    }
}

fn as_table(results: &[Verdict]) -> String {
    let row = |one: &Verdict| {
        let reason = one.reason.clone().unwrap_or_else(|| "-".to_owned());
        let took = format!("{}s", one.seconds);
        vec![one.group.clone(), one.result.to_owned(), one.instances.to_string(), took, reason]
    };
    let headings = ["GROUP", "RESULT", "INSTANCES", "TOOK", "REASON"];
    table(&headings, results.iter().map(row).collect())
}
