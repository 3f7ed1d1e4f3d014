//! Exit codes, which scripts depend on.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done, or stopped as asked |
//! | 1 | something went wrong on the way |
//! | 2 | the command line, or a file or variable that it leads to, is no good; nothing was done |
//! | 130 | stopped by Ctrl-C or SIGTERM in the middle of something that can be taken up again |

use std::io::Write;
use std::process::ExitCode;

/// Marks an error as one of usage.
#[derive(Debug)]
pub(crate) struct Usage;

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing was done")
    }
}

impl std::error::Error for Usage {}

/// Marks an error as an interruption.
#[derive(Debug)]
pub(crate) struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it can be taken up again")
    }
}

impl std::error::Error for Stopped {}

/// The exit code of a result; an error is printed.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let usage = error.downcast_ref::<Usage>().is_some();
    let stopped = error.downcast_ref::<Stopped>().is_some();
    // Where stderr is closed, the exit code has to do.
    drop(writeln!(std::io::stderr(), "machinist: {error:#}"));
    match (usage, stopped) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::from(130),
        (false, false) => ExitCode::FAILURE,
    }
}
