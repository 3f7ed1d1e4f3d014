//! `machinist recycle`: finds Events, their instances and node groups, and recycles groups from the command line.
//!
//! `search` and `groups` only read. `run` and `watch` change the group, its tags, cordons and pods, by the steps in
//! `controllers::recycler`. Exit codes: 0 done; 1 failed or not found (the group is at its size again); 2 usage error;
//! 130 interrupted by Ctrl-C, the same command resumes.

pub mod arguments;
pub(crate) mod environment;
mod groups;
mod kaws;
mod messages;
mod run;
mod search;
mod watch;

use machinist_provider::provider::Providers;

use self::arguments::{RecycleArguments, RecycleCommand};
use super::output::show;
use crate::cli::Logging;
use crate::logging;
use crate::terminal::{Printable, eprint};

/// What `--verbose` logs. Every write, to Kubernetes and to AWS, is an audit line.
const VERBOSE: &str = "warn,machinist=debug,audit=info";

pub(crate) fn main(
    arguments: &RecycleArguments,
    log: Logging,
    providers: &Providers,
) -> anyhow::Result<()> {
    let arguments = &kaws::Surroundings::of_process().complete(arguments.clone())?;
    // These verbs print their results themselves.
    logging::start(log, if arguments.verbose { VERBOSE } else { "error" });
    super::block_on(tokio::runtime::Builder::new_current_thread(), async {
        match &arguments.command {
            RecycleCommand::Search(search) => search::main(arguments, search).await,
            RecycleCommand::Groups(groups) => groups::main(arguments, groups, providers).await,
            RecycleCommand::Run(run) => run::main(arguments, run, providers).await,
            RecycleCommand::Watch(watch) => watch::main(arguments, watch, providers).await,
        }
    })
}

/// Prints a line to stderr. Without stderr the recycle goes on.
fn print_line(line: &str) {
    drop(eprint(&with_end(line)));
}

fn with_end(line: &str) -> Printable {
    Printable::lines(&format!("{line}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[test]
    fn a_line_does_not_control_the_terminal() {
        assert_harmless(&with_end(HOSTILE));
    }
}
