//! What a check found: where, and what to do about it.

use std::fmt;

/// One remark of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path relative to the repository, or the name of a crate.
    pub(crate) place: String,
    /// One-based; absent where the whole file is meant.
    pub(crate) line: Option<usize>,
    /// What is wrong and what to do.
    pub(crate) advice: String,
    pub(crate) severity: Severity,
}

/// Whether a finding fails the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    Warning,
}

impl Finding {
    pub(crate) fn at(place: impl Into<String>, line: usize, advice: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of(place, advice) }
    }

    pub(crate) fn of(place: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, advice: advice.into(), severity: Severity::Error }
    }

    pub(crate) fn warning(place: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::of(place, advice) }
    }

    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        f.write_str(&self.place)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_a_compiler_message() {
        assert_eq!(Finding::at("a.rs", 3, "drop it").to_string(), "a.rs:3: drop it");
        assert_eq!(Finding::warning("a.rs", "split it").to_string(), "warning: a.rs: split it");
    }
}
