use machinist_provider::fields::{Finding, Level};

use super::messages;

/// The lines for stderr, and how many of them affect the exit code.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) lines: Vec<String>,
    pub(super) unsupported: usize,
    pub(super) invalid: usize,
}

/// An object in the input.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    pub(super) place: String,
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
}

impl Origin {
    fn title(&self) -> String {
        let Self { place, kind, name, namespace } = self;
        let name = if name.is_empty() { messages::NO_NAME } else { name };
        match namespace {
            Some(namespace) => format!("{place}: {kind} {namespace}/{name}"),
            None => format!("{place}: {kind} {name}"),
        }
    }
}

impl Notes {
    pub(super) fn unreadable(&mut self, place: &str, reason: &str) {
        self.invalid += 1;
        self.lines.push(format!("{place}: {reason}"));
    }

    pub(super) fn add(&mut self, origin: &Origin, findings: Vec<Finding>) {
        for Finding { level, path, text } in findings {
            match level {
                Level::Note => {}
                Level::Unsupported => self.unsupported += 1,
                Level::Invalid => self.invalid += 1,
            }
            let title = origin.title();
            self.lines.push(if path.is_empty() {
                format!("{title}: {text}")
            } else {
                format!("{title}: {path}: {text}")
            });
        }
    }
}
