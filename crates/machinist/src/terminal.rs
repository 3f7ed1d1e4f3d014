//! Text for terminals. What clusters, clouds and files say may have control characters, which a terminal obeys, and
//! marks that reorder text. They are shown as in a Rust string: `\u{1b}`. All text that is printed or logged passes
//! here, apart from manifests, which are data; in JSON they are escaped by its own rules.

use std::borrow::Cow;

/// Text for a part of a line: line breaks and tabs are escaped, too.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_obeyed(letter) {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

/// Text of several lines.
pub(crate) fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

/// The same JSON. What is escaped can only be within its strings.
pub(crate) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_obeyed(letter) && letter != '\n' {
            escaped.extend(["\\u", &format!("{:04x}", u32::from(letter))]);
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Whether a terminal acts upon it instead of showing it: controls (C0, DEL, C1), line separators, and the marks,
/// embeddings, overrides and isolates that change the direction of text.
pub(crate) fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Erases the screen, sets the title, goes up a line, returns, reverses what follows.
    pub(crate) const HOSTILE: &str =
        "a\x1b[2J\x1b]0;t\x07b\u{9b}1Ac\rd\x7fe\u{202e}f\u{2066}g\u{85}h\ti\nj\0";

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(
            escape(HOSTILE),
            r"a\u{1b}[2J\u{1b}]0;t\u{7}b\u{9b}1Ac\rd\u{7f}e\u{202e}f\u{2066}g\u{85}h\ti\nj\u{0}"
        );
        let plain = r"Grüße: 日本 – \x1b \u{1b} 🦀";
        assert!(matches!(escape(plain), Cow::Borrowed(same) if same == plain));
        assert_eq!(escape_lines("a\x1b\nb\r\n"), "a\\u{1b}\nb\\r\n");
    }

    #[test]
    fn escaping_twice_is_escaping_once() {
        let once = escape(HOSTILE).into_owned();
        assert_eq!(escape(&once), once);
    }

    #[test]
    fn json_stays_the_same() {
        let value = serde_json::json!([{"message": HOSTILE, HOSTILE: 1}]);
        let escaped = escape_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!escaped.contains(|letter| is_obeyed(letter) && letter != '\n'), "{escaped:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
