//! What a check found: where, and what to do about it. Printed like a compiler message.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path relative to the repository, or the name of a crate.
    pub(crate) place: String,
    /// One-based; absent if the finding is about the whole file.
    pub(crate) line: Option<usize>,
    pub(crate) advice: String,
}

impl Finding {
    pub(crate) fn at(place: impl Into<String>, line: usize, advice: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of(place, advice) }
    }

    pub(crate) fn of(place: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, advice: advice.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.advice)
    }
}
