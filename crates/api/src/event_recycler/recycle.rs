//! A recycle of one node group, as stored in the status of its EventRecycler.
//!
//! It has everything that is needed to continue after a crash, and is written before each step. A shorter form is
//! stored as a tag on the group. Values of the enums are stored in clusters and never renamed.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

use super::spec::Strategy;
use crate::schema;

/// The recycle of one node group.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recycle {
    /// A unique id among all recycles of the group.
    pub id: String,
    /// The Auto Scaling group.
    pub group: String,
    /// The AWS region that it is in.
    pub region: String,
    /// How its instances are replaced.
    pub strategy: Strategy,
    /// The current step.
    pub step: Step,
    /// The sizes that the group is left at.
    pub original: Sizes,
    /// The instances to replace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<RecycledInstance>,
    /// The last instance refresh of the group before this recycle: any later one is ours.
    pub refresh_before: Option<String>,
    /// When it was begun.
    #[serde(deserialize_with = "time")]
    #[schemars(schema_with = "schema::time")]
    pub started: Timestamp,
    /// When the current step began. A step that is done per instance begins again with each instance.
    #[serde(deserialize_with = "time")]
    #[schemars(schema_with = "schema::time")]
    pub step_since: Timestamp,
    /// Until when calls were made that would do harm if AWS executed them after the end of the recycle. The tag stays
    /// on the group until that cannot happen any more.
    #[serde(default, deserialize_with = "maybe_time")]
    #[schemars(schema_with = "schema::time")]
    pub called_until: Option<Timestamp>,
    /// How many events led to it.
    #[serde(default)]
    pub events: i64,
    /// Why it failed, if it did.
    pub failure: Option<RecycleFailure>,
    /// What it waits for, or why it failed.
    pub message: Option<String>,
}

crate::named_enum! {
    /// The step of a recycle.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Step {
        /// Stored; the tag on the group is next.
        Planned,
        /// Instances are replaced one after the other.
        Replacing,
        /// An instance refresh is running.
        Refreshing,
        /// The sizes are set to zero.
        ScalingDown,
        /// The sizes are zero; instances terminate.
        Emptying,
        /// The sizes are restored.
        Restoring,
        /// New instances start.
        Refilling,
        /// Failed; changes are reverted.
        Releasing,
        /// The tag is removed from the group, once no call can be executed late any more.
        Unmarking,
        /// Finished.
        Succeeded,
        /// Failed.
        Failed,
    }
}

/// Minimum, maximum and desired number of instances of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    // Kubernetes has no unsigned number formats, and warns about them.
    /// At least.
    #[schemars(extend("format" = "int64"))]
    pub min: u32,
    /// At most.
    #[schemars(extend("format" = "int64"))]
    pub max: u32,
    /// What it should have.
    #[schemars(extend("format" = "int64"))]
    pub desired: u32,
}

/// An instance to replace.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecycledInstance {
    /// Its id.
    pub id: String,
    /// Its Node, if it has one.
    pub node: Option<String>,
    /// The current step.
    pub state: InstanceState,
    /// Since when.
    #[serde(default, deserialize_with = "maybe_time")]
    #[schemars(schema_with = "schema::time")]
    pub since: Option<Timestamp>,
}

/// The state of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum InstanceState {
    /// Not started.
    Waiting,
    /// The Node is cordoned and drained.
    Draining,
    /// The instance terminates.
    Terminating,
    /// The instance is gone from the group.
    Gone,
    /// It stays: it is protected.
    Kept,
}

crate::named_enum! {
    /// Why a recycle failed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum RecycleFailure {
        /// A step took too long.
        TimedOut,
        /// A Node could not be drained in time.
        DrainTimedOut,
        /// The group does not exist any more.
        GroupGone,
        /// Another recycle has this group.
        Busy,
        /// The instance refresh failed or was cancelled.
        RefreshFailed,
        /// AWS rejected a request.
        Refused,
        /// Its EventRecycler was deleted.
        Cancelled,
    }
}

impl Sizes {
    /// All zero.
    pub const ZERO: Self = Self { min: 0, max: 0, desired: 0 };
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "min {} max {} desired {}", self.min, self.max, self.desired)
    }
}

impl Step {
    /// Whether the recycle is finished.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// An unreadable time counts as long ago: the step times out, and changes are reverted.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.parse().unwrap_or(Timestamp::UNIX_EPOCH))
}

fn maybe_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| text.parse().unwrap_or(Timestamp::UNIX_EPOCH)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored() -> serde_json::Value {
        json!({
            "id": "a1", "group": "workers", "region": "eu-central-1", "strategy": "Replace", "step": "Replacing",
            "original": {"min": 1, "max": 4, "desired": 3}, "events": 7,
            "started": "2026-11-16T01:00:00Z", "stepSince": "2026-11-16T01:02:00Z",
            "instances": [{"id": "i-1", "node": "n1", "state": "Draining", "since": "2026-11-16T01:02:00Z"}],
        })
    }

    #[test]
    fn stored_recycles_survive_a_round_trip() {
        let recycle: Recycle = serde_json::from_value(stored()).unwrap();
        assert_eq!(recycle.step, Step::Replacing);
        assert_eq!(recycle.instances[0].state, InstanceState::Draining);
        assert_eq!(serde_json::to_value(&recycle).unwrap(), stored());
    }

    #[test]
    fn unreadable_time_is_long_ago() {
        let mut value = stored();
        value["stepSince"] = json!("9999-12-31T23:59:59Z");
        let recycle: Recycle = serde_json::from_value(value).unwrap();
        assert_eq!(recycle.step_since, Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn names_match_the_stored_values() {
        for step in [Step::Planned, Step::Emptying, Step::Unmarking, Step::Failed] {
            assert_eq!(json!(step), json!(step.as_str()));
        }
        for failure in [RecycleFailure::Busy, RecycleFailure::DrainTimedOut] {
            assert_eq!(json!(failure), json!(failure.as_str()));
        }
    }
}
