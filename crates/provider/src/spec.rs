//! The pure half of a provider: reading provider specs.

use std::fmt;

use machinist_domain::retry::{Category, Classified, Retry};
use machinist_domain::shape::Shape;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Reads provider specs.
pub trait SpecHalf: Send + Sync {
    /// What the spec asks for.
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError>;

    /// Which specs this reads. One that names none is never chosen by kind.
    fn kinds(&self) -> &[SpecKind] {
        &[]
    }

    /// The name of the provider that this spec is for, where `self` reads the specs of several.
    fn provider(&self, spec: &RawValue) -> Option<&'static str> {
        let _ = spec;
        None
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

/// Reads a provider spec, or as much of it as `T` wants. One that cannot be read has one problem, with the full path of its field: what comes after
/// the first value of a wrong type is not looked at.
pub fn read<T: DeserializeOwned>(spec: &RawValue) -> Result<T, Problem> {
    // serde would take a list for a struct, field by field.
    if !spec.get().trim_start().starts_with('{') {
        return Err(Problem::at("", "it must be an object"));
    }
    serde_json::from_str(spec.get()).map_err(|error| {
        let text = error.to_string();
        // Where in the line it stands says nothing: nobody has seen this line.
        let words = text.rsplit_once(" at line ").map_or(text.as_str(), |(words, _)| words);
        Problem::at(unreadable_path::<T>(spec), words)
    })
}

/// Where a spec cannot be read. Only for one that cannot: keeping account of the path takes its time.
fn unreadable_path<T: DeserializeOwned>(spec: &RawValue) -> String {
    let mut reader = serde_json::Deserializer::from_str(spec.get());
    let error = serde_path_to_error::deserialize::<_, T>(&mut reader).err();
    let path =
        error.as_ref().map(serde_path_to_error::Error::path).filter(|path| path.iter().len() > 0);
    path.map(ToString::to_string).unwrap_or_default()
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

impl From<Problem> for SpecError {
    fn from(problem: Problem) -> Self {
        Self::Invalid { reason: problem.to_string() }
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Disk {
        #[serde(rename = "sizes")]
        _sizes: Option<Vec<u8>>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Spec {
        #[serde(rename = "disks")]
        _disks: Vec<Disk>,
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_whole_path() {
        let cases = [
            ("[]", "it must be an object"),
            (r#"{"disks":5}"#, "disks: invalid type: integer `5`, expected a sequence"),
            (
                r#"{"x":[1],"disks":[{},{"sizes":[1,2," at line 9"]}]}"#,
                "disks[1].sizes[2]: invalid type: string \" at line 9\", expected u8",
            ),
            (
                r#"{"disks":[{"sizes":[-1]}]}"#,
                "disks[0].sizes[0]: invalid value: integer `-1`, expected u8",
            ),
            (r#"{"disks":[],"disks":[]}"#, "duplicate field `disks`"),
        ];
        for (spec, expected) in cases {
            let raw = RawValue::from_string(spec.to_owned()).unwrap();
            assert_eq!(read::<Spec>(&raw).unwrap_err().to_string(), expected, "{spec}");
        }
        let good = RawValue::from_string(r#" {"disks":[{"sizes":null}]}"#.to_owned()).unwrap();
        assert!(read::<Spec>(&good).is_ok());
    }
}
