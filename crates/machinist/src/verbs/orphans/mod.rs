//! `machinist orphans`: the instances of the cluster that no Machine needs, and why each may (not) be deleted.
//!
//! `controllers::orphans` finds and judges them; `list` shows them and is pure; `delete` deletes with a confirmation.
//! Exit codes: 0 done; 1 something could not be read or listed, or an instance was not deleted; 2 usage error, or not
//! confirmed.

pub(crate) mod arguments;
mod connect;
mod delete;
mod list;
mod messages;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use machinist_controllers::orphans::{Rules, Sighting, Survey, Verdict, judge};
use machinist_provider::provider::Providers;
use serde::Serialize;

use self::arguments::OrphanArguments;
use self::connect::Connected;
use self::list::Listing;
use super::output::{Format, show};
use crate::cli::{ListFormat, Logging};
use crate::logging;

/// Each deletion is an audit line.
const DELETING: &str = "error,audit=info";

pub(crate) fn main(
    arguments: &OrphanArguments,
    log: Logging,
    providers: &Providers,
) -> anyhow::Result<()> {
    logging::start(log, if arguments.delete { DELETING } else { "error" });
    super::block_on(tokio::runtime::Builder::new_current_thread(), run(arguments, providers))
}

async fn run(arguments: &OrphanArguments, providers: &Providers) -> anyhow::Result<()> {
    let connected = Connected::new(arguments, providers).await?;
    let survey = connected.survey().await?;
    // An orphan is looked at again before it is deleted.
    let rules = Rules { grace: arguments.grace, seen_before: false };
    let verdicts = judged(&survey, |_| None, rules);
    let now = Timestamp::now();
    if arguments.delete {
        return delete::run(arguments, &connected, &survey, &verdicts, now).await;
    }
    let listing = Listing::of(&survey, &verdicts, arguments.all);
    print(arguments.output, &listing, |wide| listing.table(now, wide))?;
    ensure_complete(&survey)
}

/// The verdicts about all listed instances, by when an instance was seen to be an orphan before.
fn judged(
    survey: &Survey,
    first_seen: impl Fn(&str) -> Option<Timestamp>,
    rules: Rules,
) -> Vec<Verdict> {
    let seen = survey.instances.iter().map(|listed| {
        let owned = &listed.owned;
        Sighting { owned, first_seen: first_seen(&owned.instance.provider_id) }
    });
    judge(&seen.collect::<Vec<_>>(), &survey.view, rules)
}

fn print(
    format: ListFormat,
    values: &impl Serialize,
    table: impl FnOnce(bool) -> String,
) -> anyhow::Result<()> {
    let (format, wide) = match format {
        ListFormat::Table => (Format::Table, false),
        ListFormat::Wide => (Format::Table, true),
        ListFormat::Json => (Format::Json, false),
        ListFormat::Yaml => (Format::Yaml, false),
    };
    show(format, values, || table(wide))
}

fn ensure_complete(survey: &Survey) -> anyhow::Result<()> {
    match survey.unchecked.as_slice() {
        [] => Ok(()),
        unchecked => bail!(messages::incomplete(unchecked)),
    }
}

impl Connected {
    async fn survey(&self) -> anyhow::Result<Survey> {
        self.finder.survey().await.context(messages::CANNOT_READ)
    }
}
