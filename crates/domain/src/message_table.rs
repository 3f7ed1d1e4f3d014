//! What every `messages.rs` uses: functions that return a text, and a Markdown table of all of them for a snapshot
//! test. `make fmt` copies the snapshots into `docs/reference/messages.md`.

/// Functions that return a text, one per line: `pub(super) fn no_secret(key: &ObjectKey) = "Secret {key} is gone";`
#[macro_export]
macro_rules! texts {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) = $text:literal $(, $value:expr)*;)*) => {
        $($(#[$meta])* $vis fn $name($($arg: $type),*) -> String {
            format!($text $(, $value)*)
        })*
    };
}

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
