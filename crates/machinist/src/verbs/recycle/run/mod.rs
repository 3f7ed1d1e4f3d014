//! `machinist recycle run`: recycles node groups one after the other, by the stages of the controller.
//!
//! The plan is stored only in the tags of the group. The same command resumes from there: after Ctrl-C, after a crash,
//! on another machine. The first group that fails ends the run.

pub(super) mod command;
mod context;
pub(super) mod drive;
pub(super) mod preview;
pub(super) mod progress;

use anyhow::bail;
use jiff::Timestamp;
use machinist_api::event_recycler::recycle::Recycle;
use machinist_provider::node_groups::GroupRef;
use machinist_provider::provider::Providers;
use machinist_runtime::shutdown;
use serde::Serialize;

pub(super) use self::context::{RecycleContext, synced};
use self::preview::Preview;
use self::progress::Progress;
use super::arguments::{RecycleArguments, RunArguments};
use super::{messages, print_line, show};
use crate::exit::Stopped;
use crate::verbs::confirm;
use crate::verbs::table::table;

/// The result of one group in JSON and YAML.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupResult {
    group: String,
    region: String,
    result: &'static str,
    instances: usize,
    seconds: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(super) async fn main(
    common: &RecycleArguments,
    arguments: &RunArguments,
    providers: &Providers,
) -> anyhow::Result<()> {
    let stop = shutdown::on_signal()?;
    let how = arguments.how;
    let context = if arguments.no_cluster {
        RecycleContext::without_cluster(common, providers, how, stop.clone()).await?
    } else {
        RecycleContext::new(common, providers, how, stop.clone()).await?
    };
    let mut previews = Vec::new();
    for name in &arguments.groups {
        let group = GroupRef::new(context.region.as_str(), name.as_str());
        previews.push(preview::of(&context, &group, arguments.how.strategy).await?);
    }
    if arguments.dry_run {
        let shown: Vec<_> = previews.iter().map(Preview::shown).collect();
        return show(arguments.output, &shown, || preview::as_text(&previews));
    }
    if !arguments.yes {
        confirm(&preview::as_text(&previews))?;
    }
    let mut results = Vec::new();
    let mut given_up = None;
    let count = previews.len();
    for preview in previews {
        let group = preview.recycle.group.clone();
        let mut progress = Progress::new();
        let recycle = match preview.start(&context, &mut progress).await {
            Ok(recycle) => recycle,
            Err(error) => {
                given_up = Some(error.to_string());
                break;
            }
        };
        let recycle = drive::drive(&context, recycle, &mut progress).await;
        if !recycle.step.is_over() {
            let rest = arguments.groups.iter().skip_while(|name| **name != group);
            let rest: Vec<_> = rest.map(String::as_str).collect();
            let mut go_on = command::of(common, &recycle.region, &arguments.how, &rest);
            go_on.push_str(&command::how_to_print(arguments));
            print_line(&messages::resumption(&recycle, &go_on));
            print(arguments, &results)?;
            return Err(anyhow::anyhow!(messages::interrupted(&group)).context(Stopped));
        }
        let result = GroupResult::of(&recycle, context.clock.now());
        given_up = result.reason.clone().filter(|_| result.result == "Failed");
        results.push(result);
        if given_up.is_some() {
            break;
        }
    }
    print(arguments, &results)?;
    let done = results.iter().filter(|result| result.reason.is_none()).count();
    match given_up {
        Some(reason) => bail!(messages::incomplete(done, count, &reason)),
        None => Ok(()),
    }
}

fn print(arguments: &RunArguments, results: &[GroupResult]) -> anyhow::Result<()> {
    if results.is_empty() {
        return Ok(());
    }
    show(arguments.output, results, || as_table(results))
}

/// Asks whether to do what the text says.
pub(super) fn confirm(text: &str) -> anyhow::Result<()> {
    confirm::confirm(text, messages::NO_TERMINAL, messages::NOT_CONFIRMED)
}

impl GroupResult {
    fn of(recycle: &Recycle, ended: Timestamp) -> Self {
        Self {
            group: recycle.group.clone(),
            region: recycle.region.clone(),
            result: recycle.step.as_str(),
            instances: recycle.instances.len(),
            seconds: ended.duration_since(recycle.started).as_secs(),
            reason: messages::failure(recycle),
        }
    }
}

fn as_table(results: &[GroupResult]) -> String {
    let row = |one: &GroupResult| {
        let reason = one.reason.clone().unwrap_or_else(|| "-".to_owned());
        let took = format!("{}s", one.seconds);
        vec![one.group.clone(), one.result.to_owned(), one.instances.to_string(), took, reason]
    };
    let headings = ["GROUP", "RESULT", "INSTANCES", "TOOK", "REASON"];
    table(&headings, results.iter().map(row).collect())
}
