//! Progress of a rollout on stdout: on a terminal a bar that is redrawn, elsewhere a line per change.

use super::status::{State, Status};
use crate::terminal::{self, Printable};

const WIDTH: usize = 20;

#[derive(Debug)]
pub(super) struct Progress {
    on_terminal: bool,
    last: Option<Printable>,
    note: Option<String>,
    /// The cursor is behind a bar.
    is_open: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { on_terminal: terminal::stdout_is_terminal(), last: None, note: None, is_open: false }
    }

    pub(super) fn show(&mut self, status: &Status) -> std::io::Result<()> {
        let is_new = status.note.is_some() && status.note != self.note;
        self.note.clone_from(&status.note);
        let text = drawn(status, self.on_terminal);
        if let Some(note) = status.note.as_deref().filter(|_| is_new) {
            crate::verbs::print(&noted(note, self.on_terminal))?;
            // The bar was in its place.
            self.last = self.last.take().filter(|_| !self.on_terminal);
        }
        if self.last.as_ref() == Some(&text) {
            return Ok(());
        }
        crate::verbs::print(&text)?;
        self.last = Some(text);
        self.is_open = self.on_terminal && status.state != State::Complete;
        Ok(())
    }

    /// Leaves the line of the bar, so that an error has its own.
    pub(super) fn end(&self) {
        if self.is_open {
            drop(crate::verbs::print(&Printable::lines("\n")));
        }
    }
}

fn noted(note: &str, on_terminal: bool) -> Printable {
    if on_terminal {
        Printable::last_in_line(note)
    } else {
        Printable::lines(&format!("{}\n", terminal::escape(note)))
    }
}

fn drawn(status: &Status, on_terminal: bool) -> Printable {
    let line = terminal::escape(&status.line);
    match (on_terminal, status.state == State::Complete) {
        (false, _) => Printable::lines(&format!("{line}\n")),
        (true, true) => Printable::last_in_line(&status.line),
        (true, false) => {
            Printable::in_line(&format!("{} {}", bar(status.done, status.replicas), status.line))
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
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[test]
    fn bars() {
        assert_eq!(bar(0, 3), "[--------------------] 0/3");
        assert_eq!(bar(1, 4), "[#####---------------] 1/4");
        assert_eq!(bar(3, 3), "[####################] 3/3");
        assert_eq!(bar(0, 0), "[####################] 0/0");
    }

    #[test]
    fn a_line_of_its_own_without_a_terminal_and_a_bar_on_it() {
        let mut status = Status {
            state: State::Waiting,
            line: "a\nb".to_owned(),
            note: None,
            done: 1,
            replicas: 2,
        };
        assert_eq!(drawn(&status, false).to_string(), "a\\nb\n");
        let bar = "\r\x1b[K\x1b[?7l[##########----------] 1/2 a\\nb\x1b[?7h";
        assert_eq!(drawn(&status, true).to_string(), bar);
        status.state = State::Complete;
        assert_eq!(drawn(&status, true).to_string(), "\r\x1b[Ka\\nb\n");
        status.line = HOSTILE.to_owned();
        assert_harmless(&drawn(&status, false));
        assert_harmless(&noted(HOSTILE, false));
        assert_eq!(noted("a\nb", true).to_string(), "\r\x1b[Ka\\nb\n");
    }
}
