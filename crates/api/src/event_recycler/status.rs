//! The status of an EventRecycler.
//!
//! `lastCheckTime`, `activeRecycles`, `recycleHistory` and `eventCounts` are those of kaws. All lists are bounded.
//! There is no heartbeat: the status is written only on a change.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::recycle::Recycle;
use crate::parts::Condition;
use crate::schema;

/// Observed state of an EventRecycler.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventRecyclerStatus {
    /// When an evaluation last found something new.
    #[schemars(schema_with = "schema::time")]
    pub last_check_time: Option<String>,
    /// Node groups that are being recycled: their names, with the region before it where two have the same.
    pub active_recycles: Option<Vec<String>>,
    /// Finished recycles, the newest last. The last 20 are kept.
    pub recycle_history: Option<Vec<PastRecycle>>,
    /// Events in the window per node group. Named as in activeRecycles.
    pub event_counts: Option<BTreeMap<String, i64>>,
    /// Conditions.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
    /// Active recycles.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["region", "group"]))]
    pub recycles: Option<Vec<Recycle>>,
    /// Stored counts, which survive a restart.
    pub counting: Option<Counting>,
    /// The generation of the observed spec.
    pub observed_generation: Option<i64>,
    /// Events that are not mapped to a node group yet.
    pub unmapped: Option<Unmapped>,
    /// Node groups (region/name) that reached the threshold and cannot be recycled, with the reason.
    pub refused: Option<BTreeMap<String, String>>,
}

/// A recycle that has ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PastRecycle {
    /// Which group.
    pub node_group: Option<String>,
    /// The AWS region that the group is in.
    pub region: Option<String>,
    /// When it ended.
    #[schemars(schema_with = "schema::time")]
    pub timestamp: Option<String>,
    /// The number of events that triggered it.
    pub event_count: Option<i64>,
    /// How it ended: Succeeded, Failed, or DryRun where nothing was done.
    pub status: Option<String>,
    /// The reason as text.
    pub message: Option<String>,
    /// When it began.
    #[schemars(schema_with = "schema::time")]
    pub started: Option<String>,
}

/// Stored counts. All parts are written together.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Counting {
    /// The version of this format. An unknown version is ignored.
    pub format: i64,
    /// Events up to this resourceVersion are counted.
    pub mark: String,
    /// For each node group: how many in which minute.
    pub groups: Option<BTreeMap<String, String>>,
    /// Events that are counted for no group yet: what is known of each, how many, in which minute.
    #[schemars(length(max = 300))]
    pub open: Option<Vec<String>>,
}

/// Events that are not mapped to a node group yet.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Unmapped {
    /// How many.
    pub count: i64,
    /// The newest of them, and what is missing.
    pub example: Option<String>,
}
