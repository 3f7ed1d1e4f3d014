use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinist_provider::fields::{Fields, Level};

use super::Metadata;
use crate::verbs::convert::messages;

/// Its values are decoded. They are never printed, except as a value of another Secret.
#[derive(Clone, Default)]
pub(crate) struct Secret {
    values: BTreeMap<String, Vec<u8>>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values.keys()).finish()
    }
}

impl Secret {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        Metadata::of_object(fields);
        fields.ignore(&["type", "immutable"]);
        let mut values = BTreeMap::new();
        for (name, text) in fields.map("data") {
            // Shells add line ends.
            let text: String = text.split_whitespace().collect();
            match STANDARD.decode(text) {
                Ok(value) => drop(values.insert(name, value)),
                Err(_) => fields.add(Level::Invalid, &format!("data.{name}"), messages::NOT_BASE64),
            }
        }
        let plain = fields.map("stringData").into_iter();
        values.extend(plain.map(|(name, text)| (name, text.into_bytes())));
        Self { values }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.values.get(name).map(Vec::as_slice).filter(|value| !value.is_empty())
    }
}
