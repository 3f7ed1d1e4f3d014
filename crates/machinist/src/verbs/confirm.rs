//! Asks on the terminal before something is changed.

use std::io::{BufRead as _, IsTerminal as _};

use anyhow::Context as _;

use crate::exit::Usage;
use crate::terminal::{Printable, eprint};

/// Asks whether to do what the text says. Without a terminal, and without a yes, nothing is done.
pub(super) fn confirm(
    text: &str,
    no_terminal: &'static str,
    not_confirmed: &'static str,
) -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() {
        return Err(anyhow::anyhow!(no_terminal).context(Usage));
    }
    eprint(&question(text))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("stdin")?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(anyhow::anyhow!(not_confirmed).context(Usage))
}

fn question(text: &str) -> Printable {
    Printable::lines(&format!("{text}\nContinue? [y/N] "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[test]
    fn the_question_does_not_control_the_terminal() {
        assert_harmless(&question(HOSTILE));
    }
}
