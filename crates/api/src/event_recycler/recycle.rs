//! A recycle as it is stored in the status of its EventRecycler: what is being done to one node group, and how far it is.
//!
//! Everything that is needed to go on after a crash is here: what the group was like before, which instances are to go, and since when the
//! present step lasts. Written before the step is carried out. The same plan, shorter, is stored as a tag on the group.
//!
//! Words of the closed enums are never renamed: they stand in clusters. Not here: what comes after which step (`controllers`).

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::spec::Strategy;
use crate::schema;

/// What is being done to one node group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recycle {
    /// Tells this recycle from others of the same group, earlier ones and those of other recyclers.
    pub id: String,
    /// The Auto Scaling group.
    pub group: String,
    /// The AWS region that it is in.
    pub region: String,
    /// How its instances are replaced.
    pub strategy: Strategy,
    /// How far it is.
    pub step: Step,
    /// The sizes that the group is left at.
    pub original: Sizes,
    /// The instances that are to go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<RecycledInstance>,
    /// The last instance refresh of the group before this recycle: any later one is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_before: Option<String>,
    /// When it was begun.
    #[serde(deserialize_with = "time")]
    #[schemars(schema_with = "schema::time")]
    pub started: Timestamp,
    /// Since when the present step lasts. Where a step is made once for each instance, it begins anew with every instance.
    #[serde(deserialize_with = "time")]
    #[schemars(schema_with = "schema::time")]
    pub step_since: Timestamp,
    /// How many events led to it.
    #[serde(default)]
    pub events: i64,
    /// Why it is given up, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RecycleFailure>,
    /// What it waits for, or why it is given up, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How far a recycle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Step {
    /// It is stored; the tag on the group is next.
    Planned,
    /// Its instances are replaced one after the other.
    Replacing,
    /// AWS replaces its instances.
    Refreshing,
    /// Its sizes are being set to zero.
    ScalingDown,
    /// Its sizes are zero; its instances are going.
    Emptying,
    /// Its sizes are being set back.
    Restoring,
    /// New instances are coming.
    Refilling,
    /// It is given up; what was begun is being taken back.
    Releasing,
    /// Nothing is left but to take the tag off the group.
    Unmarking,
    /// It ended well.
    Succeeded,
    /// It was given up.
    Failed,
}

/// Minimum, maximum and desired number of instances of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    // Kubernetes knows no format of numbers without a sign, and warns whoever applies one.
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

/// An instance that is to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecycledInstance {
    /// Its id.
    pub id: String,
    /// Its Node, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How far it is.
    pub state: InstanceState,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_time")]
    #[schemars(schema_with = "schema::time")]
    pub since: Option<Timestamp>,
}

/// How far the replacement of an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum InstanceState {
    /// Its turn has not come.
    Waiting,
    /// Its Node is being cordoned and drained.
    Draining,
    /// It is being terminated.
    Terminating,
    /// The group does not have it any more.
    Gone,
    /// It stays: somebody does not want it to go.
    Kept,
}

/// Why a recycle is given up.
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
    /// AWS gave its instance refresh up, or somebody stopped it.
    RefreshFailed,
    /// AWS does not let us.
    Refused,
    /// Nobody wants it any more: its recycler is gone, or only pretends from now on.
    Cancelled,
}

impl Step {
    /// Whether nothing is left to be done.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "Planned",
            Self::Replacing => "Replacing",
            Self::Refreshing => "Refreshing",
            Self::ScalingDown => "ScalingDown",
            Self::Emptying => "Emptying",
            Self::Restoring => "Restoring",
            Self::Refilling => "Refilling",
            Self::Releasing => "Releasing",
            Self::Unmarking => "Unmarking",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

impl RecycleFailure {
    /// The word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "TimedOut",
            Self::DrainTimedOut => "DrainTimedOut",
            Self::GroupGone => "GroupGone",
            Self::Busy => "Busy",
            Self::RefreshFailed => "RefreshFailed",
            Self::Refused => "Refused",
            Self::Cancelled => "Cancelled",
        }
    }
}

/// A time that cannot be read is long ago: what has waited for so long is given up, which puts everything back.
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
    fn what_is_stored_is_read_and_written_as_it_was() {
        let recycle: Recycle = serde_json::from_value(stored()).unwrap();
        assert_eq!(recycle.step, Step::Replacing);
        assert_eq!(recycle.instances[0].state, InstanceState::Draining);
        assert_eq!(serde_json::to_value(&recycle).unwrap(), stored());
    }

    #[test]
    fn a_time_that_nobody_can_read_is_long_ago() {
        let mut value = stored();
        value["stepSince"] = json!("9999-12-31T23:59:59Z");
        let recycle: Recycle = serde_json::from_value(value).unwrap();
        assert_eq!(recycle.step_since, Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn words_are_those_that_are_stored() {
        for step in [Step::Planned, Step::Emptying, Step::Unmarking, Step::Failed] {
            assert_eq!(json!(step), json!(step.as_str()));
        }
        for failure in [RecycleFailure::Busy, RecycleFailure::DrainTimedOut] {
            assert_eq!(json!(failure), json!(failure.as_str()));
        }
    }
}
