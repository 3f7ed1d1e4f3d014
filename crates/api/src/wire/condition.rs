//! A condition, of a Machine, a MachineSet or a Node. Heartbeats are skipped.

use jiff::Timestamp;
use serde::Deserialize;

use super::lenient;

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    /// The severity; OpenShift sets it if the status is False.
    pub severity: Option<String>,
    pub reason: Option<String>,
    pub message: Option<String>,
    #[serde(deserialize_with = "lenient::time")]
    pub last_transition_time: Option<Timestamp>,
}
