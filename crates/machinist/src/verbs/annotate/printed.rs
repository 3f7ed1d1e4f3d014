use crate::manifests::stream::is_marker;

#[derive(Debug, Default)]
pub(super) struct Printed {
    text: String,
    ends_with_json: bool,
}

impl Printed {
    /// Adds a document, with a marker where one is needed. JSON values need none between them.
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
            // YAML requires `...` before a directive.
            self.text.push_str(if first.starts_with('%') { "...\n" } else { "---\n" });
        }
        self.text.push_str(piece);
    }

    fn takes_another(&self) -> bool {
        self.text.lines().next_back().is_none_or(|line| is_marker(line, "..."))
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
