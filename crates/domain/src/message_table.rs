//! Renders the messages of one controller or CLI verb as a Markdown table, for a snapshot test. `make fmt` copies the
//! snapshots into `docs/reference/messages.md`.

/// One row per message: where it appears (`Event Warning`, `stderr`), its reason, and the text.
pub fn message_table<W: AsRef<str>, R: AsRef<str>>(rows: &[(W, R, String)]) -> String {
    let mut table = String::from("| where | reason | message |\n|---|---|---|\n");
    for (place, reason, message) in rows {
        let message = message.replace('|', "\\|").replace('\n', "<br>");
        let quote = if reason.as_ref().is_empty() { "" } else { "`" };
        let cells = [place.as_ref(), " | ", quote, reason.as_ref(), quote, " | ", &message];
        table.push_str(&["| ", &cells.concat(), " |\n"].concat());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_would_break_the_table() {
        let table = message_table(&[("Event Warning", "Failed", "a|b\nc".to_owned())]);
        assert!(table.ends_with("| Event Warning | `Failed` | a\\|b<br>c |\n"), "{table}");
    }
}
