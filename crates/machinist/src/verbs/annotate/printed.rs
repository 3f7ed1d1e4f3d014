//! What is printed, document by document.

use crate::manifests::stream::is_marker;

/// A stream of documents in the making.
#[derive(Debug, Default)]
pub(super) struct Printed {
    text: String,
    ends_with_json: bool,
}

impl Printed {
    /// Adds a document, with a marker where two would run into each other. JSON values need none among themselves.
    pub(super) fn append(&mut self, piece: &str, json: bool) {
        let both_json = std::mem::replace(&mut self.ends_with_json, json) && json;
        let is_apart = self.text.is_empty()
            || self.text.ends_with('\n')
            || (both_json && self.text.ends_with(char::is_whitespace));
        if !is_apart && !piece.is_empty() {
            self.text.push('\n');
        }
        let significant = |line: &&str| !line.starts_with('#') && !line.trim().is_empty();
        if let Some(first) = piece.lines().find(significant)
            && !(both_json || self.takes_another() || is_marker(first, "---"))
        {
            // A directive may only follow the end of a document.
            self.text.push_str(if first.starts_with('%') { "...\n" } else { "---\n" });
        }
        self.text.push_str(piece);
    }

    /// Whether the last document has been ended.
    fn takes_another(&self) -> bool {
        self.text.lines().next_back().is_none_or(|line| is_marker(line, "..."))
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
