//! Hot fields: fields of the provider spec that a provider changes on living instances. Pure.
//!
//! The fields that the hash of a MachineSet's template leaves out are stored on the set. So which set has a template
//! follows from what is stored, whatever the providers of this process are and declare.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::template::without_nulls;

/// Names of fields at the top level of a provider spec.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HotFields(BTreeSet<String>);

impl HotFields {
    /// As a provider declares them.
    pub(super) fn declared(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// As a MachineSet's annotation has them.
    pub(super) fn stored(text: Option<&str>) -> Self {
        let names = text.unwrap_or_default().split(',').map(str::trim);
        Self(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// The value of the annotation; `None` if there are no such fields.
    pub(super) fn to_text(&self) -> Option<String> {
        let names: Vec<_> = self.0.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(","))
    }

    pub(super) fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Takes the fields out of a provider spec.
    pub(super) fn take(&self, spec: &mut Map<String, Value>) -> Map<String, Value> {
        let fields = self.0.iter().filter_map(|name| spec.remove_entry(name));
        fields
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect()
    }

    /// The fields of a Machine's provider spec; `None` if it is not an object.
    pub(super) fn read(&self, spec: &RawValue) -> Option<Map<String, Value>> {
        let mut spec = serde_json::from_str(spec.get()).ok()?;
        Some(self.take(&mut spec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_as_they_are_stored() {
        let declared = HotFields::declared(&["tags", "labels"]);
        assert_eq!(declared.to_text().as_deref(), Some("labels,tags"));
        assert_eq!(HotFields::stored(Some(" tags,,labels")), declared);
        assert_eq!(HotFields::stored(None), HotFields::declared(&[]));
        assert_eq!(HotFields::default().to_text(), None);
        let both = HotFields::stored(Some("x")).with(declared);
        assert_eq!(both.to_text().as_deref(), Some("labels,tags,x"));
    }

    #[test]
    fn only_they_are_taken_out_of_a_provider_spec() {
        let fields = HotFields::declared(&["labels", "tags"]);
        let raw = r#"{"tags":{"a":"b","c":null},"labels":null,"other":{"tags":1}}"#;
        let raw = RawValue::from_string(raw.to_owned()).unwrap();
        assert_eq!(Value::Object(fields.read(&raw).unwrap()).to_string(), r#"{"tags":{"a":"b"}}"#);
        let raw = RawValue::from_string("[1]".to_owned()).unwrap();
        assert_eq!(fields.read(&raw), None);
    }
}
