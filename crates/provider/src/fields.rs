//! Reads an object of another system field by field. What is wrong, not supported or not read becomes a [`Finding`], so
//! that a translation drops nothing without a word. The text of a finding names no field: [`Finding::path`] does.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::messages;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Translated, with a difference that people should know.
    Note,
    /// Not translated, or not completely.
    Unsupported,
    /// Invalid in the system that it comes from.
    Invalid,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    /// The field, such as `spec.strategy.type`.
    pub path: String,
    /// What is the case, and what to do.
    pub text: String,
}

/// The fields of an object that are not read yet.
#[derive(Debug)]
pub struct Fields<'a> {
    path: String,
    left: Map<String, Value>,
    findings: &'a mut Vec<Finding>,
}

impl Fields<'_> {
    /// Reads an object; at the end its other fields are findings.
    pub fn read<T>(
        path: &str,
        object: Map<String, Value>,
        findings: &mut Vec<Finding>,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> T {
        let mut fields = Fields { path: path.to_owned(), left: object, findings };
        let result = read(&mut fields);
        for (name, value) in std::mem::take(&mut fields.left) {
            if !value.is_null() {
                fields.add(Level::Unsupported, &name, messages::UNKNOWN_FIELD);
            }
        }
        result
    }

    /// Adds a finding about a field.
    pub fn add(&mut self, level: Level, name: &str, text: impl Into<String>) {
        let path = match (self.path.is_empty(), name.is_empty()) {
            (true, _) => name.to_owned(),
            (false, true) => self.path.clone(),
            (false, false) => format!("{}.{name}", self.path),
        };
        self.findings.push(Finding { level, path, text: text.into() });
    }

    pub fn unsupported(&mut self, name: &str, text: impl Into<String>) {
        self.add(Level::Unsupported, name, text);
    }

    /// Takes a field that has no counterpart. Empty values are no findings.
    pub fn refuse(&mut self, name: &str, text: &str) {
        if self.value(name).is_some_and(|value| !is_zero(&value)) {
            self.unsupported(name, text);
        }
    }

    /// Takes fields without a meaning for a translation.
    pub fn ignore(&mut self, names: &[&str]) {
        for name in names {
            self.left.remove(*name);
        }
    }

    /// Null is missing.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// Any type that can be deserialized; `expected` completes "must be".
    pub fn decode<T: DeserializeOwned>(&mut self, name: &str, expected: &str) -> Option<T> {
        let decoded = serde_json::from_value(self.value(name)?);
        if decoded.is_err() {
            self.add(Level::Invalid, name, messages::wrong_type(expected));
        }
        decoded.ok()
    }

    /// Empty is missing, as in Go.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.text_or_empty(name).filter(|text| !text.is_empty())
    }

    pub fn text_or_empty(&mut self, name: &str) -> Option<String> {
        self.decode(name, "text")
    }

    pub fn flag(&mut self, name: &str) -> Option<bool> {
        self.decode(name, "true or false")
    }

    /// A number that is not negative.
    pub fn count(&mut self, name: &str) -> Option<i32> {
        let number: i32 = self.decode(name, "a whole number")?;
        if number < 0 {
            self.add(Level::Invalid, name, messages::NEGATIVE);
        }
        (number >= 0).then_some(number)
    }

    pub fn texts(&mut self, name: &str) -> Vec<String> {
        self.decode(name, "a list of texts").unwrap_or_default()
    }

    pub fn map(&mut self, name: &str) -> BTreeMap<String, String> {
        self.decode(name, "a map of texts").unwrap_or_default()
    }

    pub fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Fields<'_>) -> T) -> Option<T> {
        let object = self.decode(name, "an object")?;
        let path = self.place(name);
        Some(Fields::read(&path, object, self.findings, read))
    }

    /// A list of objects, which `read` gets with their positions.
    pub fn list<T>(
        &mut self,
        name: &str,
        mut read: impl FnMut(usize, &mut Fields<'_>) -> T,
    ) -> Vec<T> {
        let objects: Vec<Map<String, Value>> =
            self.decode(name, "a list of objects").unwrap_or_default();
        let path = self.place(name);
        let items = objects.into_iter().enumerate();
        items
            .map(|(at, object)| {
                let path = format!("{path}[{at}]");
                Fields::read(&path, object, self.findings, |fields| read(at, fields))
            })
            .collect()
    }

    fn place(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// What Go leaves out.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_read_is_a_finding_with_its_path() {
        let object = json!({
            "a": {"b": [{"c": 1, "d": "x"}, {"d": ""}], "e": -1}, "f": null, "g": "yes", "h": {}, "i": 2,
        });
        let Value::Object(object) = object else { panic!("no object") };
        let mut findings = Vec::new();
        let texts = Fields::read("spec", object, &mut findings, |fields| {
            let texts = fields.object("a", |a| {
                assert_eq!(a.count("e"), None);
                a.list("b", |at, item| (at, item.text("d")))
            });
            assert_eq!(fields.flag("g"), None);
            fields.refuse("h", "nothing");
            fields.refuse("i", "not supported");
            texts
        });
        assert_eq!(texts, Some(vec![(0, Some("x".to_owned())), (1, None)]));
        let lines: Vec<_> =
            findings.iter().map(|one| (one.level, format!("{}: {}", one.path, one.text))).collect();
        let expected = [
            (Level::Invalid, "spec.a.e: must not be negative"),
            (Level::Unsupported, "spec.a.b[0].c: unknown field; not converted"),
            (Level::Invalid, "spec.g: must be true or false"),
            (Level::Unsupported, "spec.i: not supported"),
        ];
        assert_eq!(lines, expected.map(|(level, text)| (level, text.to_owned())));
    }
}
