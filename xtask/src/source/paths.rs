//! Tokens to paths: `a::b::c` wherever it stands, `use` groups expanded, method calls marked.

use super::tokens::{Kind, Token};

/// A path that the source mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodePath {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
    /// Whether it follows a dot: `.patch`.
    pub(crate) method: bool,
}

impl CodePath {
    /// Whether the path starts in the given crate (or module).
    pub(crate) fn starts_with(&self, prefix: &str) -> bool {
        let mut own = self.segments.iter();
        !self.method
            && prefix.split("::").all(|part| own.next().is_some_and(|segment| segment == part))
    }

    /// Whether the given segments stand next to each other anywhere in the path.
    pub(crate) fn contains(&self, part: &str) -> bool {
        let part: Vec<&str> = part.split("::").collect();
        !self.method && self.segments.windows(part.len()).any(|window| window == part)
    }

    pub(crate) fn text(&self) -> String {
        let dot = if self.method { "." } else { "" };
        format!("{dot}{}", self.segments.join("::"))
    }
}

/// Every path in the order of the source. Keywords count as paths of one segment; nobody asks for those.
pub(crate) fn paths(tokens: &[Token]) -> Vec<CodePath> {
    let mut reader = Reader { tokens, at: 0, found: Vec::new() };
    while reader.at < tokens.len() {
        if reader.name(0).is_some() {
            let method = reader.at > 0 && tokens[reader.at - 1].kind == Kind::Mark('.');
            reader.path(&[], method);
        } else {
            reader.at += 1;
        }
    }
    reader.found
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    found: Vec<CodePath>,
}

impl Reader<'_> {
    fn name(&self, ahead: usize) -> Option<&str> {
        match &self.tokens.get(self.at + ahead)?.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }

    fn mark(&self, ahead: usize) -> Option<char> {
        match self.tokens.get(self.at + ahead)?.kind {
            Kind::Mark(mark) => Some(mark),
            _ => None,
        }
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    /// Reads a path that begins here, below what stands before the group that it is in.
    fn path(&mut self, outer: &[String], method: bool) {
        let line = self.line();
        let mut segments = outer.to_vec();
        while let Some(name) = self.name(0) {
            // `use a::{self, b}` names `a`.
            if name != "self" || segments.is_empty() {
                segments.push(name.to_owned());
            }
            self.at += 1;
            if (self.mark(0), self.mark(1)) != (Some(':'), Some(':')) {
                break;
            }
            if self.name(2).is_some() {
                self.at += 2;
            } else if self.mark(2) == Some('{') {
                self.at += 3;
                self.group(&segments);
                return;
            } else {
                // `a::*`, `Vec::<u8>`: the path ends here.
                break;
            }
        }
        self.found.push(CodePath { line, segments, method });
    }

    /// Reads the inside of `a::{…}` up to and including the closing brace.
    fn group(&mut self, outer: &[String]) {
        while self.at < self.tokens.len() {
            if self.mark(0) == Some('}') {
                self.at += 1;
                return;
            }
            if self.name(0) == Some("as") {
                self.at += 2;
            } else if self.name(0).is_some() {
                self.path(outer, false);
            } else if self.mark(0) == Some('*') {
                let line = self.line();
                self.found.push(CodePath { line, segments: outer.to_vec(), method: false });
                self.at += 1;
            } else {
                self.at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tokens;

    fn texts(source: &str) -> Vec<String> {
        paths(&tokens(source)).iter().map(CodePath::text).collect()
    }

    #[test]
    fn groups_are_expanded() {
        assert_eq!(
            texts("use std::{fs, time::{self, Instant as I, *}};"),
            ["use", "std::fs", "std::time", "std::time::Instant", "std::time"]
        );
    }

    #[test]
    fn paths_in_expressions_and_types_are_found() {
        assert_eq!(texts("jiff::Timestamp::now()"), ["jiff::Timestamp::now"]);
        assert_eq!(texts("kube::Api::<Node>::all(c)"), ["kube::Api", "Node", "all", "c"]);
        assert_eq!(texts("::kube::Client"), ["kube::Client"]);
    }

    #[test]
    fn methods_are_told_from_functions() {
        assert_eq!(texts("api.patch(x)"), ["api", ".patch", "x"]);
    }

    #[test]
    fn prefixes_and_parts_match_whole_segments() {
        let path = &paths(&tokens("kube::Api::all"))[0];
        assert!(path.starts_with("kube"));
        assert!(path.starts_with("kube::Api"));
        assert!(!path.starts_with("kub"));
        assert!(!path.starts_with("kube::Api::all::more"));
        assert!(path.contains("Api::all"));
        assert!(!path.contains("kube::all"));
    }

    #[test]
    fn lines_are_those_of_the_name() {
        let found = paths(&tokens("use a::{\n  b,\n  c,\n};"));
        let lines: Vec<usize> = found.iter().skip(1).map(|path| path.line).collect();
        assert_eq!(lines, [2, 3]);
    }
}
