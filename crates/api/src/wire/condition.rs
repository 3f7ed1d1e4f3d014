//! A condition, of a Machine, a MachineSet or a Node. Heartbeats are skipped.

use jiff::Timestamp;
use serde::Deserialize;

use super::lenient;

/// A condition.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// The severity; OpenShift sets it if the status is False.
    pub severity: Option<String>,
    /// The reason.
    pub reason: Option<String>,
    /// The message.
    pub message: Option<String>,
    /// When it last changed.
    #[serde(deserialize_with = "lenient::time")]
    pub last_transition_time: Option<Timestamp>,
}
