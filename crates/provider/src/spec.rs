//! The pure half of a provider: reading provider specs.

use std::fmt;

use machinist_domain::retry::{Category, Classified, Retry};
use machinist_domain::shape::Shape;
use serde_json::value::RawValue;

/// Reads provider specs.
pub trait SpecHalf: Send + Sync {
    /// What the spec asks for.
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError>;

    /// Which specs this reads. One that names none is never chosen by kind.
    fn kinds(&self) -> &[SpecKind] {
        &[]
    }

    /// Everything that is wrong with a spec, as far as that can be said without asking the cloud; for people, all of it at once. A spec that
    /// is not even readable has one problem, at its root.
    fn validate(&self, spec: &RawValue) -> Vec<Problem> {
        match self.shape(spec) {
            Ok(_) => Vec::new(),
            Err(error) => vec![Problem { path: String::new(), message: error.to_string() }],
        }
    }
}

/// A kind of provider spec: what stands in its `apiVersion` and `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpecKind {
    /// The API group, without the version.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
}

impl fmt::Display for SpecKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.group)
    }
}

/// One thing that is wrong with a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where in the spec, such as `placement.region`; empty for the whole.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Problem {
    /// A problem at a place.
    pub fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Why a provider spec is no use. Nothing will be better until somebody edits the object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// There is no provider spec.
    #[error("providerSpec.value is missing")]
    Missing,
    /// The spec is of a kind that nobody here reads.
    #[error("provider spec has kind {kind:?}, which no provider here reads{}", Known(known))]
    ForeignKind {
        /// The kind that it has.
        kind: String,
        /// The kinds that are read here.
        known: Vec<SpecKind>,
    },
    /// The spec cannot be read.
    #[error("provider spec is not valid: {reason}")]
    Invalid {
        /// What is wrong, with the place where it is known.
        reason: String,
    },
}

/// The kinds that are read, as the end of a sentence.
struct Known<'a>(&'a [SpecKind]);

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, kind) in self.0.iter().enumerate() {
            write!(f, "{}{kind}", if at == 0 { "; they read " } else { ", " })?;
        }
        Ok(())
    }
}

impl Classified for SpecError {
    fn category(&self) -> Category {
        Category::InvalidConfiguration
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}
