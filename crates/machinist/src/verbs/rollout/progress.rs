//! Progress of a rollout on stdout: on a terminal a bar that is redrawn, elsewhere a line per change.

use std::io::{IsTerminal as _, Write as _};

use super::status::{State, Status};
use crate::terminal::escape;

const WIDTH: usize = 20;

#[derive(Debug)]
pub(super) struct Progress {
    on_terminal: bool,
    last: String,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { on_terminal: std::io::stdout().is_terminal(), last: String::new() }
    }

    pub(super) fn show(&mut self, status: &Status) -> std::io::Result<()> {
        let text = drawn(status, self.on_terminal);
        if text == self.last {
            return Ok(());
        }
        crate::verbs::print(&text)?;
        self.last = text;
        Ok(())
    }

    /// Leaves the line of the bar, so that an error has its own.
    pub(super) fn end(&self) {
        if self.on_terminal && !self.last.is_empty() && !self.last.ends_with('\n') {
            drop(writeln!(std::io::stdout()));
        }
    }
}

/// Line wrap is off while the bar is drawn, so that the terminal cuts a long line.
fn drawn(status: &Status, on_terminal: bool) -> String {
    let line = escape(&status.line);
    let is_over = status.state == State::Complete;
    match (on_terminal, is_over) {
        (false, _) => format!("{line}\n"),
        (true, true) => format!("\r\x1b[K{line}\n"),
        (true, false) => {
            format!("\r\x1b[K\x1b[?7l{} {line}\x1b[?7h", bar(status.done, status.replicas))
        }
    }
}

/// `[#####---------------] 1/4`
fn bar(done: i32, of: i32) -> String {
    let size = |count: i32| usize::try_from(count).unwrap_or(0);
    let filled = (WIDTH * size(done)).checked_div(size(of)).unwrap_or(WIDTH).min(WIDTH);
    format!("[{}{}] {done}/{of}", "#".repeat(filled), "-".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::HOSTILE;

    #[test]
    fn bars() {
        assert_eq!(bar(0, 3), "[--------------------] 0/3");
        assert_eq!(bar(1, 4), "[#####---------------] 1/4");
        assert_eq!(bar(3, 3), "[####################] 3/3");
        assert_eq!(bar(0, 0), "[####################] 0/0");
    }

    #[test]
    fn a_line_of_its_own_without_a_terminal_and_a_bar_on_it() {
        let mut status =
            Status { state: State::Waiting, line: "a\nb".to_owned(), done: 1, replicas: 2 };
        assert_eq!(drawn(&status, false), "a\\nb\n");
        let bar = "\r\x1b[K\x1b[?7l[##########----------] 1/2 a\\nb\x1b[?7h";
        assert_eq!(drawn(&status, true), bar);
        status.state = State::Complete;
        assert_eq!(drawn(&status, true), "\r\x1b[Ka\\nb\n");
        status.line = HOSTILE.to_owned();
        assert!(!drawn(&status, false).trim_end().contains(crate::terminal::is_obeyed));
    }
}
