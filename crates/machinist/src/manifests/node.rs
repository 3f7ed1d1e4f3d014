//! The value of a document, with the order of its keys.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Number;

use super::stream::{Document, Notation};
use crate::messages;

/// Nodes are read, written and dropped by recursion. The deepest CRDs have about forty levels.
const DEEPEST: usize = 64;

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(#[serde(serialize_with = "in_order")] Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn parse(document: Document<'_>) -> Result<Self, String> {
        match document.notation {
            Notation::Json => {
                serde_json::from_str(document.text).map_err(|error| error.to_string())
            }
            Notation::Yaml => {
                // Files may be large; depth and the expansion of aliases are limited all the same.
                let options = serde_saphyr::options! {
                    budget: serde_saphyr::budget! {
                        max_depth: DEEPEST,
                        flow_nesting_limit: DEEPEST,
                        max_reader_input_bytes: None,
                        max_events: usize::MAX,
                        max_aliases: usize::MAX,
                        max_anchors: usize::MAX,
                        max_recorded_anchor_events: usize::MAX,
                        max_recorded_anchor_bytes: usize::MAX,
                        max_documents: usize::MAX,
                        max_nodes: usize::MAX,
                        max_total_scalar_bytes: usize::MAX,
                        max_merge_keys: usize::MAX,
                        enforce_alias_anchor_ratio: false,
                    },
                    with_snippet: false,
                    emit_comments: false,
                    non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
                };
                serde_saphyr::from_str_with_options(document.text, options)
                    .map_err(|error| error.to_string())
            }
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|entry| entry.0 == key).map(|entry| &entry.1),
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Map(entries) => {
                entries.iter_mut().find(|entry| entry.0 == key).map(|entry| &mut entry.1)
            }
            _ => None,
        }
    }

    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key, inserted if missing; `None` if this is neither a map nor null.
    pub(crate) fn entry(&mut self, key: &str) -> Option<&mut Self> {
        if matches!(self, Self::Null) {
            *self = Self::Map(Vec::new());
        }
        if let Self::Map(entries) = self
            && entries.iter().all(|entry| entry.0 != key)
        {
            entries.push((key.to_owned(), Self::Null));
        }
        self.get_mut(key)
    }
}

/// The order of keys does not matter.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(two)) => one == two,
            (Self::Number(one), Self::Number(two)) => one == two,
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::List(one), Self::List(two)) => one == two,
            (Self::Map(one), Self::Map(two)) => {
                one.len() == two.len()
                    && one.iter().all(|(key, value)| other.get(key) == Some(value))
            }
            _ => false,
        }
    }
}

fn in_order<S: Serializer>(entries: &[(String, Node)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(key, value)| (key, value)))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(messages::JSON_VALUE)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Node, E> {
        Number::from_f64(value).map(Node::Number).ok_or_else(|| E::custom(messages::NOT_FINITE))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        let mut keys: Vec<_> = entries.iter().map(|entry| &entry.0).collect();
        keys.sort_unstable();
        if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(serde::de::Error::custom(messages::duplicate_key(twice[0])));
        }
        Ok(Node::Map(entries))
    }
}
