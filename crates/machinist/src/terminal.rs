//! Text for terminals. Text from clusters, clouds and files may have control characters, which control a terminal, and
//! marks that reorder text. They are shown as in a Rust string: `\u{1b}`; in JSON they are escaped by its own rules.
//!
//! Everything that is printed is a [`Printable`]: clippy allows nothing else to write to stdout or stderr. Log lines
//! are escaped in `logging`.

#[cfg(feature = "playground")]
pub(crate) mod screen;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

/// Text whose origin cannot control the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Printable(String);

impl Printable {
    /// Text of several lines.
    pub(crate) fn lines(text: &str) -> Self {
        Self(escape_lines(text))
    }

    pub(crate) fn json(json: &str) -> Self {
        Self(escape_json(json))
    }

    /// Data for other programs, such as a manifest, of which every byte stays.
    pub(crate) fn data(data: String) -> Self {
        Self(data)
    }

    /// A line in the place of the one in which the cursor is, which stays there. Line wrap is off meanwhile.
    pub(crate) fn in_line(text: &str) -> Self {
        Self(format!("\r\x1b[K\x1b[?7l{}\x1b[?7h", escape(text)))
    }

    /// The same, and the next line follows.
    pub(crate) fn last_in_line(text: &str) -> Self {
        Self(format!("\r\x1b[K{}\n", escape(text)))
    }

    /// Lines in the place of the last `former` ones. Line wrap is off meanwhile, so that the terminal cuts long lines.
    pub(crate) fn in_place_of<'a>(former: usize, lines: impl Iterator<Item = &'a str>) -> Self {
        let mut text = String::from("\x1b[?7l");
        if former > 0 {
            text.extend(["\x1b[", &former.to_string(), "A"]);
        }
        for line in lines {
            text.extend(["\r", &escape(line), "\x1b[K\n"]);
        }
        text.push_str("\x1b[J\x1b[?7h");
        Self(text)
    }
}

impl fmt::Display for Printable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that prints")]
pub(crate) fn print(text: &Printable) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.0.as_bytes())?;
    stdout.flush()
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that prints")]
pub(crate) fn eprint(text: &Printable) -> io::Result<()> {
    io::stderr().write_all(text.0.as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether stdout is a terminal of which the size is known, and that obeys escape sequences.
#[cfg(feature = "playground")]
pub(crate) fn is_capable() -> bool {
    stdout_is_terminal()
        && size().is_some()
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Rows and columns of stdout; `None` if it is not a terminal, or its size is unknown.
#[cfg(feature = "playground")]
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub(crate) fn size() -> Option<[u16; 2]> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some([size.ws_row, size.ws_col]).filter(|size| !size.contains(&0))
}

/// Text for a part of a line: line breaks and tabs are escaped, too.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(controls_terminal) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if controls_terminal(letter) {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

/// Text of several lines.
fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

/// The same JSON. What is escaped can only be within its strings.
pub(crate) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if controls_terminal(letter) && letter != '\n' {
            escaped.extend(["\\u", &format!("{:04x}", u32::from(letter))]);
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Whether a terminal acts upon it instead of showing it: controls (C0, DEL, C1), line separators, and the marks,
/// embeddings, overrides and isolates that change the direction of text.
pub(crate) fn controls_terminal(letter: char) -> bool {
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

    /// Asserts that a terminal shows this text, which has the hostile one in it, and is not controlled by it.
    pub(crate) fn assert_harmless(text: &Printable) {
        let Printable(text) = text;
        assert!(!text.contains(|letter| controls_terminal(letter) && letter != '\n'), "{text:?}");
        assert!(text.contains("[2J"), "the text is missing: {text:?}");
    }

    #[test]
    fn characters_that_control_a_terminal_are_shown() {
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
    fn lines_are_printed_in_place_of_others_and_cannot_move_the_cursor() {
        let Printable(first) = Printable::in_place_of(0, ["a", HOSTILE].into_iter());
        assert!(first.starts_with("\x1b[?7l\ra\x1b[K\n\ra\\u{1b}[2J"), "{first:?}");
        let Printable(second) = Printable::in_place_of(2, [HOSTILE].into_iter());
        let text = second.strip_prefix("\x1b[?7l\x1b[2A\r").unwrap();
        let text = text.strip_suffix("\x1b[K\n\x1b[J\x1b[?7h").unwrap();
        assert_harmless(&Printable(text.to_owned()));
    }

    #[test]
    fn data_is_not_changed() {
        assert_eq!(Printable::data(HOSTILE.to_owned()).to_string(), HOSTILE);
        assert_harmless(&Printable::lines(HOSTILE));
        assert_harmless(&Printable::json(&serde_json::to_string(HOSTILE).unwrap()));
    }

    #[test]
    fn json_stays_the_same() {
        let value = serde_json::json!([{"message": HOSTILE, HOSTILE: 1}]);
        let escaped = escape_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(
            !escaped.contains(|letter| controls_terminal(letter) && letter != '\n'),
            "{escaped:?}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
