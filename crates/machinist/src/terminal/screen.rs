//! A view that fills the terminal, on its alternate screen: what was there before is back when it is dropped, whatever
//! ended it.

use std::io;

use super::{Printable, escape, print};

/// How a part of a line looks. Without colours all look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Busy,
    Bad,
}

impl Style {
    /// Parameters of the escape sequence SGR.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Busy => "33",
            Self::Bad => "31",
        }
    }
}

/// A part of a line. Its text does not control the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) style: Style,
    text: String,
}

impl Span {
    pub(crate) fn new(style: Style, text: &str) -> Self {
        Self { style, text: escape(text).into_owned() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Spaces up to this width.
    pub(crate) fn padded(mut self, width: usize) -> Self {
        let missing = width.saturating_sub(self.width());
        self.text.extend(std::iter::repeat_n(' ', missing));
        self
    }
}

pub(crate) type Line = Vec<Span>;

/// The line without what is beyond this width.
pub(crate) fn clip(line: Line, width: usize) -> Line {
    let whole: usize = line.iter().map(Span::width).sum();
    if whole <= width {
        return line;
    }
    let mut left = width.saturating_sub(1);
    let mut clipped = Line::new();
    for span in line {
        let text: String = span.text.chars().take(left).collect();
        left -= text.chars().count();
        clipped.push(Span { text, ..span });
    }
    if width > 0 {
        clipped.push(Span::new(Style::Dim, "…"));
    }
    clipped.retain(|span| !span.text.is_empty());
    clipped
}

/// The alternate screen, until it is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    colours: bool,
}

impl Screen {
    pub(crate) fn enter() -> io::Result<Self> {
        // First, so that an incomplete write is undone, too.
        let screen = Self { colours: colours(std::env::var_os("NO_COLOR").as_deref()) };
        print(&Printable("\x1b[?1049h\x1b[?25l\x1b[?7l".to_owned()))?;
        Ok(screen)
    }

    pub(crate) fn draw(&self, lines: &[Line]) -> io::Result<()> {
        print(&Printable(drawn(lines, self.colours)))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        drop(print(&Printable("\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l".to_owned())));
    }
}

/// <https://no-color.org>: any value but an empty one.
fn colours(no_color: Option<&std::ffi::OsStr>) -> bool {
    no_color.is_none_or(std::ffi::OsStr::is_empty)
}

/// Every line in its row, so that nothing scrolls.
fn drawn(lines: &[Line], colours: bool) -> String {
    let mut text = String::new();
    for (row, line) in lines.iter().enumerate() {
        text.extend(["\x1b[", &(row + 1).to_string(), ";1H"]);
        for span in line {
            match span.style.code() {
                "" => text.push_str(&span.text),
                code if colours => text.extend(["\x1b[", code, "m", &span.text, "\x1b[0m"]),
                _ => text.push_str(&span.text),
            }
        }
        text.push_str("\x1b[K");
    }
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[test]
    fn lines_are_clipped_across_their_parts() {
        let line = || vec![Span::new(Style::Bold, "abc"), Span::new(Style::Bad, "däf")];
        assert_eq!(clip(line(), 6), line());
        let text = |line: Line| line.iter().map(|span| span.text.clone()).collect::<Vec<_>>();
        assert_eq!(text(clip(line(), 5)), ["abc", "d", "…"]);
        assert_eq!(text(clip(line(), 3)), ["ab", "…"]);
        assert_eq!(text(clip(line(), 1)), ["…"]);
        assert!(clip(line(), 0).is_empty());
    }

    #[test]
    fn colours_are_left_out_where_they_are_unwanted() {
        let line = vec![Span::new(Style::Plain, "a"), Span::new(Style::Bad, "b")];
        let lines = [line, Line::new()];
        let coloured = "\x1b[1;1Ha\x1b[31mb\x1b[0m\x1b[K\x1b[2;1H\x1b[K\x1b[J";
        assert_eq!(drawn(&lines, true), coloured);
        assert_eq!(drawn(&lines, false), "\x1b[1;1Hab\x1b[K\x1b[2;1H\x1b[K\x1b[J");
        assert!(colours(None) && colours(Some("".as_ref())) && !colours(Some("1".as_ref())));
    }

    #[test]
    fn what_is_shown_does_not_control_the_terminal() {
        let span = Span::new(Style::Plain, HOSTILE);
        assert_harmless(&Printable(span.text));
    }
}
