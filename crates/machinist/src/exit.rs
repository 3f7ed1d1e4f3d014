//! Exit codes, which scripts depend on.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done, or stopped as asked |
//! | 1 | something went wrong on the way |
//! | 2 | the command line, or a file or variable that it leads to, is no good; nothing was done |

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

/// The exit code of a result; an error is printed.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let usage = error.downcast_ref::<Usage>().is_some();
    // Where stderr is closed, the exit code has to do.
    drop(writeln!(std::io::stderr(), "machinist: {error:#}"));
    if usage { ExitCode::from(2) } else { ExitCode::FAILURE }
}
