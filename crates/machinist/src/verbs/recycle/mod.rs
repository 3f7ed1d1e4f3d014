//! `machinist recycle`: from Events to instances to node groups, and recycling these, by hand.
//!
//! | verb | reads | writes |
//! |---|---|---|
//! | `search` | Events, Pods, Nodes | nothing |
//! | `groups` | EC2 | nothing |
//! | `run` | Auto Scaling, Nodes, Pods | the group, its tag, cordons and evictions |
//! | `watch` | as all of them | as `run` |
//!
//! Exit codes: 0 done; 1 something went wrong, was not found, or was given up (the group is at its size again); 2 bad usage, nothing was
//! done; 130 stopped by Ctrl-C in the middle of a recycle, which the same command takes up again.
//!
//! Not here: what is done in which order (`controllers::recycler`), which these verbs share with the controller.

pub mod arguments;
mod around;
mod groups;
mod instance;
mod region;
mod run;
mod search;
mod table;
mod watch;

use std::io::Write as _;

use anyhow::Context;
use machinist_provider::provider::Providers;
use serde::Serialize;

use self::arguments::{Format, RecycleArguments, RecycleCommand};
use crate::cli::Logging;
use crate::logging;

/// Does what the command line says.
pub fn main(
    arguments: &RecycleArguments,
    log: Logging,
    providers: &Providers,
) -> anyhow::Result<()> {
    // What these verbs have to say they print.
    logging::start(log, "error");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        match &arguments.command {
            RecycleCommand::Search(search) => search::main(arguments, search).await,
            RecycleCommand::Groups(groups) => groups::main(arguments, groups, providers).await,
            RecycleCommand::Run(run) => run::main(arguments, run, providers).await,
            RecycleCommand::Watch(watch) => watch::main(arguments, watch, providers).await,
        }
    });
    // A name look-up that hangs must not hold up the exit.
    runtime.shutdown_background();
    result
}

/// Prints values for programs, or the table for people.
fn show<T: Serialize>(
    format: Format,
    values: &[T],
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let text = match format {
        Format::Table => table(),
        Format::Json => serde_json::to_string_pretty(values)? + "\n",
        Format::Yaml => serde_saphyr::to_string(&values)?,
    };
    super::print(&text).context("stdout")
}

/// A line for people, on stderr.
fn say(line: &str) {
    // Where stderr is closed, the exit code has to do.
    drop(writeln!(std::io::stderr(), "{line}"));
}
