use serde_json::{Map, Value};

use super::notes::Notes;
use crate::manifests::input::Input;
use crate::manifests::node::Node;
use crate::manifests::stream;

/// An object of a document, or of a list in it.
#[derive(Debug, Clone)]
pub(super) struct Object {
    /// File and line of the document.
    pub(super) place: String,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) fields: Map<String, Value>,
}

pub(super) fn objects(inputs: &[Input], notes: &mut Notes) -> Vec<Object> {
    let mut objects = Vec::new();
    for input in inputs {
        for document in stream::documents(&input.text) {
            let place = format!("{}:{}", input.name, document.line);
            let value = Node::parse(document)
                .and_then(|node| serde_json::to_value(&node).map_err(|error| error.to_string()));
            match value {
                Ok(value) => add(value, &place, &mut objects),
                Err(reason) => notes.unreadable(&place, &reason),
            }
        }
    }
    objects
}

/// What is no object, such as a document of comments, is nothing to convert.
fn add(value: Value, place: &str, objects: &mut Vec<Object>) {
    let Value::Object(mut fields) = value else { return };
    let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if kind.ends_with("List")
        && let Some(Value::Array(items)) = fields.remove("items")
    {
        // The items of a typed list may have no kind of their own.
        let of_items = kind.trim_end_matches("List");
        for mut item in items {
            if let Value::Object(item) = &mut item
                && !of_items.is_empty()
                && !item.contains_key("kind")
            {
                item.insert("kind".to_owned(), of_items.into());
                item.insert("apiVersion".to_owned(), api_version.clone().into());
            }
            add(item, place, objects);
        }
        return;
    }
    objects.push(Object { place: place.to_owned(), api_version, kind, fields });
}
