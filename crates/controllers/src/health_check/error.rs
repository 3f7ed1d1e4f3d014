use std::fmt;

use super::messages;

/// Why nothing of a health check is remediated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The selector, with the reason.
    Selector(String),
    /// The value of `spec.maxUnhealthy`.
    MaxUnhealthy(String),
    /// The field and its value.
    Duration(String, String),
    /// `spec.remediationTemplate` with apiVersion, kind and name.
    Template(String),
    /// The value of the annotation.
    Strategy(String),
    /// The annotation, its value, and what is valid.
    Annotation(&'static str, String, &'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&messages::refusal(self))
    }
}
