//! A condition, of a Machine, a MachineSet or a Node. Heartbeats are skipped.

use jiff::Timestamp;
use serde::Deserialize;

use super::lenient;

/// A condition, as far as it says what is so, since when and why.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// How bad it is; OpenShift's conditions have it where the status is False.
    pub severity: Option<String>,
    /// Why, in one word.
    pub reason: Option<String>,
    /// Why, for people.
    pub message: Option<String>,
    /// Since when.
    #[serde(deserialize_with = "lenient::time")]
    pub last_transition_time: Option<Timestamp>,
}
