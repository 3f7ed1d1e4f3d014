//! Exit codes, which scripts depend on: 0 success, or stopped by a signal as intended; 1 failure; 2 invalid flag, file
//! or environment variable, nothing was done; 130 interrupted, running the command again resumes.

use std::process::ExitCode;

use crate::messages::RESUMABLE;
use crate::terminal::{Printable, eprint};

/// Marks a usage error. Prints nothing of its own.
#[derive(Debug, thiserror::Error)]
#[error("")]
pub(crate) struct Usage;

pub(crate) fn usage(message: String) -> anyhow::Error {
    anyhow::Error::msg(message).context(Usage)
}

#[derive(Debug, thiserror::Error)]
#[error("{}", RESUMABLE)]
pub(crate) struct Stopped;

pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let usage = error.downcast_ref::<Usage>().is_some();
    let stopped = error.downcast_ref::<Stopped>().is_some();
    // Without stderr the exit code is all there is.
    drop(eprint(&printed(&error)));
    match (usage, stopped) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::from(130),
        (false, false) => ExitCode::FAILURE,
    }
}

fn printed(error: &anyhow::Error) -> Printable {
    Printable::lines(&format!("machinist: {}\n", text(error)))
}

/// The chain of causes. Errors that print their source would repeat it.
pub(crate) fn text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[derive(Debug, thiserror::Error)]
    #[error("file x: {0}")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_cause_is_printed_once_and_the_usage_marker_not_at_all() {
        let error = Err::<(), _>(Outer(std::io::Error::other("not found")));
        let error = error.context("--flag").context(Usage).unwrap_err();
        assert!(error.is::<Usage>());
        assert_eq!(text(&error), "--flag: file x: not found");
    }

    #[test]
    fn errors_do_not_control_the_terminal() {
        assert_harmless(&printed(&usage(HOSTILE.to_owned())));
        assert_harmless(&printed(&anyhow::anyhow!("no").context(HOSTILE)));
    }
}
