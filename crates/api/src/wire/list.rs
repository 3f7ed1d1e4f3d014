//! Lists and watches; their objects stay raw until they are decoded by kind.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
pub struct WatchLine<'a> {
    /// ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// The object, or a `Status` where the kind is ERROR.
    #[serde(borrow)]
    pub object: &'a RawValue,
}

/// One page of a list with raw items: an undecodable one must not affect the others.
#[derive(Debug, Deserialize)]
pub struct ListPage<'a> {
    #[serde(default)]
    pub metadata: ListMetadata,
    /// The objects. The API server answers `null` for an empty list of some kinds.
    #[serde(borrow, default)]
    pub items: Option<Vec<&'a RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMetadata {
    /// The version at which the list was true.
    pub resource_version: String,
    /// Token for the next page, empty on the last.
    #[serde(rename = "continue")]
    pub next: String,
}
