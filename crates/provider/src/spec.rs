//! The spec half of a provider: reads provider specs. Pure.

use std::fmt;

use machinist_domain::messages::without_rust_types;
use machinist_domain::shape::Shape;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub trait SpecHalf: fmt::Debug + Send + Sync {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError>;

    /// The kinds that this half reads. A provider without kinds is never chosen by kind.
    fn kinds(&self) -> &[SpecKind] {
        &[]
    }

    /// The fields of this spec, at its top level, that [`Cloud::update`](crate::cloud::Cloud::update) changes on a
    /// living instance, such as `tags`: a MachineDeployment copies their changes to its Machines instead of replacing
    /// these. Clusters store which fields these were, so a field that is declared once stays declared.
    fn hot_fields(&self, _spec: &RawValue) -> &'static [&'static str] {
        &[]
    }

    /// The fields of this spec, at its top level, that may change when an agent updates a living instance in place: the
    /// instance need not have them, and [`Cloud::update`](crate::cloud::Cloud::update) leaves them alone. All other
    /// fields but the hot ones need a new instance.
    fn in_place_fields(&self, _spec: &RawValue) -> &'static [&'static str] {
        &[]
    }

    /// The name of the provider that this spec is for, where `self` reads the specs of several.
    fn provider(&self, _spec: &RawValue) -> Option<&'static str> {
        None
    }

    /// All problems that can be found without the cloud. An unreadable spec has one problem.
    fn validate(&self, spec: &RawValue) -> Vec<Problem> {
        match self.shape(spec) {
            Ok(_) => Vec::new(),
            Err(error) => vec![Problem { path: String::new(), message: error.to_string() }],
        }
    }
}

/// `apiVersion` and `kind` of a provider spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpecKind {
    /// The API group, without the version.
    pub group: &'static str,
    pub kind: &'static str,
}

impl fmt::Display for SpecKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.group)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `placement.region`; empty for the whole spec.
    pub path: String,
    /// What is wrong, and what would be valid.
    pub message: String,
}

impl Problem {
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

/// Reads a provider spec into `T`. An unreadable spec has one problem, with the full path of the first bad field.
pub fn read<T: DeserializeOwned>(spec: &RawValue) -> Result<T, Problem> {
    // serde would accept a list for a struct.
    if !spec.get().trim_start().starts_with('{') {
        return Err(Problem::at("", "must be an object"));
    }
    serde_json::from_str(spec.get()).map_err(|error| {
        let text = error.to_string();
        // The position in the line does not help: the spec is not a file.
        let words = text.rsplit_once(" at line ").map_or(text.as_str(), |(words, _)| words);
        Problem::at(unreadable_path::<T>(spec), without_rust_types(words))
    })
}

/// The path of the field that cannot be read. Only for errors: tracking the path is slow.
fn unreadable_path<T: DeserializeOwned>(spec: &RawValue) -> String {
    let mut reader = serde_json::Deserializer::from_str(spec.get());
    let error = serde_path_to_error::deserialize::<_, T>(&mut reader).err();
    let path =
        error.as_ref().map(serde_path_to_error::Error::path).filter(|path| path.iter().len() > 0);
    path.map(ToString::to_string).unwrap_or_default()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpecError {
    Missing,
    /// No provider reads this kind.
    ForeignKind {
        kind: String,
        known: Vec<SpecKind>,
    },
    Invalid {
        reason: String,
    },
}

impl std::error::Error for SpecError {}

impl From<Problem> for SpecError {
    fn from(problem: Problem) -> Self {
        Self::Invalid { reason: problem.to_string() }
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
    fn unreadable_field_is_reported_with_its_full_path() {
        let cases = [
            ("[]", "must be an object"),
            (r#"{"disks":5}"#, "disks: invalid type: integer `5`, expected a sequence"),
            (
                r#"{"x":[1],"disks":[{},{"sizes":[1,2," at line 9"]}]}"#,
                "disks[1].sizes[2]: invalid type: string \" at line 9\", expected a whole number",
            ),
            (
                r#"{"disks":[{"sizes":[-1]}]}"#,
                "disks[0].sizes[0]: invalid value: integer `-1`, expected a whole number",
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
