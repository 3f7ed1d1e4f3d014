//! Text to tokens: names, punctuation, text literals. Comments, numbers, characters and lifetimes are left out.

/// A token and the line on which it begins (one-based).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Name(String),
    /// One character of punctuation.
    Mark(char),
    /// The inside of a string literal, escapes as written.
    Text(String),
}

/// Splits source text into tokens. Never fails: text that is not Rust gives tokens that mean nothing.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, line: 1, found: Vec::new() };
    while lexer.step() {}
    lexer.found
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    found: Vec<Token>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        if next == '\n' {
            self.line += 1;
        }
        Some(next)
    }

    fn push(&mut self, line: usize, kind: Kind) {
        self.found.push(Token { line, kind });
    }

    /// Reads one token, comment or space; false at the end.
    fn step(&mut self) -> bool {
        let Some(next) = self.peek(0) else {
            return false;
        };
        match next {
            '/' if self.peek(1) == Some('/') => self.line_comment(),
            '/' if self.peek(1) == Some('*') => self.block_comment(),
            '"' => self.text(),
            '\'' => self.character_or_lifetime(),
            _ if next.is_ascii_digit() => self.number(),
            _ if is_name(next) => self.name(),
            _ => {
                let line = self.line;
                self.take();
                if !next.is_whitespace() {
                    self.push(line, Kind::Mark(next));
                }
            }
        }
        true
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|next| next != '\n') {
            self.take();
        }
    }

    /// Block comments nest.
    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(next) = self.take() {
            match (next, self.peek(0)) {
                ('/', Some('*')) => {
                    self.take();
                    depth += 1;
                }
                ('*', Some('/')) => {
                    self.take();
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn text(&mut self) {
        let line = self.line;
        self.take();
        let mut inside = String::new();
        while let Some(next) = self.take() {
            match next {
                '"' => break,
                '\\' => {
                    inside.push(next);
                    inside.extend(self.take());
                }
                _ => inside.push(next),
            }
        }
        self.push(line, Kind::Text(inside));
    }

    /// `hashes` is how many `#` stand before the opening quote.
    fn raw_text(&mut self, hashes: usize) {
        let line = self.line;
        for _ in 0..=hashes {
            self.take();
        }
        let mut inside = String::new();
        while let Some(next) = self.take() {
            let closes = next == '"' && (0..hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if closes {
                for _ in 0..hashes {
                    self.take();
                }
                break;
            }
            inside.push(next);
        }
        self.push(line, Kind::Text(inside));
    }

    /// `'a'` and `'\n'` are characters, `'a` is a lifetime.
    fn character_or_lifetime(&mut self) {
        self.take();
        if self.peek(0) == Some('\\') {
            self.take();
            self.take();
            while self.take().is_some_and(|next| next != '\'') {}
        } else if self.peek(1) == Some('\'') {
            self.take();
            self.take();
        } else {
            self.swallow_name();
        }
    }

    /// Digits with their suffix. A fraction ends up as two numbers with a mark between, which harms nobody.
    fn number(&mut self) {
        self.swallow_name();
    }

    fn swallow_name(&mut self) -> String {
        let mut name = String::new();
        while let Some(next) = self.peek(0).filter(|next| is_name(*next)) {
            self.take();
            name.push(next);
        }
        name
    }

    /// A name, or what looks like one before a literal: `r"…"`, `b'…'`, `br#"…"#`, `r#type`.
    fn name(&mut self) {
        let line = self.line;
        let name = self.swallow_name();
        let hashes = self.chars[self.at..].iter().take_while(|next| **next == '#').count();
        match (name.as_str(), self.peek(hashes)) {
            ("r" | "br" | "cr", Some('"')) => self.raw_text(hashes),
            ("b" | "c", Some('"')) if hashes == 0 => self.text(),
            ("b", Some('\'')) if hashes == 0 => self.character_or_lifetime(),
            ("r", Some(next)) if hashes == 1 && is_name(next) => {
                self.take();
                let raw = self.swallow_name();
                self.push(line, Kind::Name(raw));
            }
            _ => self.push(line, Kind::Name(name)),
        }
    }
}

fn is_name(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        tokens(text)
            .into_iter()
            .filter_map(|token| match token.kind {
                Kind::Name(name) => Some(name),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn comments_and_literals_hide_names() {
        assert_eq!(names("a // kube\nb /* kube /* tokio */ kube */ c"), ["a", "b", "c"]);
        assert_eq!(
            names(r##"x("kube", r#"a " kube"#, b"kube", 'k', b'k', '\'', '\u{1F}') y"##),
            ["x", "y"]
        );
        assert_eq!(names(r#"let s = "a \" kube"; end"#), ["let", "s", "end"]);
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(
            names("fn f<'a>(x: &'a str, y: &'static u8) {}"),
            ["fn", "f", "x", "str", "y", "u8"]
        );
    }

    #[test]
    fn raw_names_are_names() {
        assert_eq!(names("r#type r br"), ["type", "r", "br"]);
    }

    #[test]
    fn lines_are_counted_through_literals_and_comments() {
        let found = tokens("/*\n*/ a\n\"x\ny\" b");
        let lines: Vec<usize> = found.iter().map(|token| token.line).collect();
        assert_eq!(lines, [2, 3, 4]);
    }

    #[test]
    fn text_is_kept_for_those_who_need_it() {
        let texts: Vec<Kind> =
            tokens(r#"#[path = "x/y.rs"]"#).into_iter().map(|token| token.kind).collect();
        assert!(texts.contains(&Kind::Text("x/y.rs".into())), "{texts:?}");
    }

    #[test]
    fn unfinished_text_ends_with_the_file() {
        for text in ["\"abc", "r#\"abc", "/* abc", "'", "'\\", "b'"] {
            tokens(text);
        }
    }
}
