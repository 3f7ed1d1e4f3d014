//! What an EventRecycler asks for.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;
use super::status::EventRecyclerStatus;

/// Which events mean that a node group is bad, and how it is recycled.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "kaws.pischarti.dev",
    version = "v1beta1",
    kind = "EventRecycler",
    doc = "An EventRecycler: recycles the node groups that certain events are about.",
    shortname = "er",
    derive = "PartialEq",
    status = "EventRecyclerStatus",
    printcolumn = r#"{"name":"Threshold","type":"integer","jsonPath":".spec.threshold",
        "description":"How many events within the window are too many"}"#,
    printcolumn = r#"{"name":"Dry-Run","type":"boolean","jsonPath":".spec.dryRun",
        "description":"Whether it only says what it would do"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status",
        "description":"Whether it works"}"#,
    printcolumn = r#"{"name":"Active","type":"string","jsonPath":".status.activeRecycles",
        "description":"Node groups that are being recycled"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","priority":1,"jsonPath":".status.conditions[?(@.type==\"Ready\")].message",
        "description":"Why it does not work"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp",
        "description":"Time since it was created"}"#
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = schema::spec_rules()))]
pub struct EventRecyclerSpec {
    /// The longest time between two evaluations. An event that arrives is looked at when it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration", extend("default" = "60s"))]
    pub watch_interval: Option<String>,
    /// An event whose message contains one of these counts. Upper and lower case differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub search_terms: Option<Vec<String>>,
    /// How many within the window are too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 5))]
    pub threshold: Option<i32>,
    /// Only say what would be done: nothing is written but status and Events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub dry_run: Option<bool>,
    /// Where the node groups are. The region of the process or of the node, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws_region: Option<String>,
    /// How often the cloud is asked while a group is being recycled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration", extend("default" = "15s"))]
    pub poll_interval: Option<String>,
    /// How long one step of a recycle may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration", extend("default" = "20m"))]
    pub recycle_timeout: Option<String>,
    /// Which events count. All that is said here must hold, and the search terms, if there are any.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matching: Option<EventMatch>,
    /// How far back events count. 10m, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub window: Option<String>,
    /// What is counted. Events, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_by: Option<CountBy>,
    /// Which node groups may be recycled. All, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_groups: Option<NodeGroupSelector>,
    /// For how long a group is left alone after a recycle, however it ended. 1h, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub cool_down: Option<String>,
    /// How many groups are recycled at once. One, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub max_concurrent: Option<i32>,
    /// How many instances of a group may be missing at once. One, if nothing is said. Not for ScaleToZero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_unavailable: Option<i32>,
    /// How a group is recycled. Replace, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Whether nodes are drained first. They are, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<bool>,
    /// How long draining one node may take. As long as recycleTimeout, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub drain_timeout: Option<String>,
    /// When a recycle may begin. At any time, if nothing is said. What has begun goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
}

/// Which events count. All that is said must hold; of each list one entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventMatch {
    /// The message fits one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20))]
    pub message: Option<Vec<MessagePattern>>,
    /// The reason is one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub reason: Option<Vec<String>>,
    /// The type: Normal or Warning.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<EventKind>,
    /// The event is about one of these kinds. Only events about Pods and Nodes lead to a node group. Both, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2))]
    pub involved_kinds: Option<Vec<InvolvedKind>>,
    /// The event is about something in one of these namespaces. Events about Nodes have none and are left out then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub namespaces: Option<Vec<String>>,
}

/// What a message may fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-validations" = schema::pattern_rules()))]
pub struct MessagePattern {
    /// The message contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub contains: Option<String>,
    /// This regular expression finds something in the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub regex: Option<String>,
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EventKind {
    /// Nothing is wrong.
    Normal,
    /// Something may be wrong.
    Warning,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InvolvedKind {
    /// A Pod; its node is meant.
    Pod,
    /// A Node.
    Node,
}

/// What is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CountBy {
    /// Every occurrence of every event.
    #[default]
    Events,
    /// Different pods.
    Pods,
    /// Different nodes.
    Nodes,
}

/// Which node groups may be recycled. All that is said must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGroupSelector {
    /// The group is called one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub names: Option<Vec<String>>,
    /// The event's node has all of these labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
}

/// How a group is recycled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// Instance by instance: drained, terminated, and the next one when its successor is ready.
    #[default]
    Replace,
    /// By an instance refresh of the cloud.
    InstanceRefresh,
    /// All at once: to zero and back, as kaws does it.
    ScaleToZero,
}

/// When a recycle may begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Schedule {
    /// Whose time of day it is: UTC, or how far ahead of it, such as `+02:00`. UTC, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time_zone")]
    pub time_zone: Option<String>,
    /// From this time of day on. 00:00, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time_of_day")]
    pub from: Option<String>,
    /// Until this time of day, of the next day where it is before `from`. 24:00, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time_of_day")]
    pub to: Option<String>,
    /// On these days; the day on which the hours begin counts. Every day, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 7))]
    pub days: Option<Vec<Day>>,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Day {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}
