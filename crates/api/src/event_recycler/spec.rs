//! The spec of an EventRecycler.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::schema;
use super::status::EventRecyclerStatus;

/// Which events trigger the recycle of a node group, and how it is recycled.
#[skip_serializing_none]
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
        "description":"How many nodes, pods or events within the window are too many"}"#,
    printcolumn = r#"{"name":"Dry-Run","type":"boolean","jsonPath":".spec.dryRun",
        "description":"Whether recycles are only reported, not done"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status",
        "description":"Whether the EventRecycler is ready"}"#,
    printcolumn = r#"{"name":"Active","type":"string","jsonPath":".status.activeRecycles",
        "description":"Active recycles"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","priority":1,
        "jsonPath":".status.conditions[?(@.type==\"Ready\")].message",
        "description":"Message of the Ready condition"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp",
        "description":"Time since it was created"}"#
)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = schema::spec_rules()))]
pub struct EventRecyclerSpec {
    /// The longest time between two evaluations. New events are evaluated at once.
    #[schemars(schema_with = "schema::duration", extend("default" = "60s"))]
    pub watch_interval: Option<String>,
    /// An event whose message contains one of these counts. Upper and lower case differ.
    #[schemars(length(min = 1, max = 100))]
    pub search_terms: Option<Vec<String>>,
    /// How many of what countBy names trigger a recycle, within the window.
    #[schemars(range(min = 1), extend("default" = 5))]
    pub threshold: Option<i32>,
    /// Dry run: only status and Events are written.
    #[schemars(extend("default" = false))]
    pub dry_run: Option<bool>,
    /// Where the node groups are. The region of the process or of the node, by default.
    pub aws_region: Option<String>,
    /// How often the cloud API is polled during a recycle.
    #[schemars(schema_with = "schema::duration", extend("default" = "15s"))]
    pub poll_interval: Option<String>,
    /// How long one step of a recycle may take.
    #[schemars(schema_with = "schema::duration", extend("default" = "20m"))]
    pub recycle_timeout: Option<String>,
    /// Which events count. All criteria must match, and the search terms, if there are any.
    #[serde(rename = "match")]
    pub matching: Option<EventMatch>,
    /// How far back events count. 10m, by default.
    #[schemars(schema_with = "schema::duration")]
    pub window: Option<String>,
    /// What is counted. Nodes, by default.
    pub count_by: Option<CountBy>,
    /// How often one pod or node counts within the window, where countBy is Events. 10, by default.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_per_object: Option<i32>,
    /// Whether an event about a pod that does not exist counts for the host that the event names. Everyone who may
    /// create events can name any host. Default: false.
    pub trust_event_host: Option<bool>,
    /// Which node groups may be recycled. All, by default.
    pub node_groups: Option<NodeGroupSelector>,
    /// How long a group is not recycled again. 1h, by default.
    #[schemars(schema_with = "schema::duration")]
    pub cool_down: Option<String>,
    /// How many groups are recycled at once. One, by default.
    #[schemars(range(min = 1, max = 100))]
    pub max_concurrent: Option<i32>,
    /// How many instances of a group may be missing at once. One, by default. Not for ScaleToZero.
    #[schemars(range(min = 1, max = 1000))]
    pub max_unavailable: Option<i32>,
    /// How a group is recycled. Replace, by default.
    pub strategy: Option<Strategy>,
    /// Whether nodes are drained first. Default: true.
    pub drain: Option<bool>,
    /// How long draining one node may take. As long as recycleTimeout, by default.
    #[schemars(schema_with = "schema::duration")]
    pub drain_timeout: Option<String>,
    /// When a recycle may start. At any time, by default. An active recycle continues.
    pub schedule: Option<Schedule>,
}

/// Which events count. All criteria must match; of each list one entry.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventMatch {
    /// The message matches one of these.
    #[schemars(length(min = 1, max = 20))]
    pub message: Option<Vec<MessagePattern>>,
    /// The reason is one of these.
    #[schemars(length(min = 1, max = 100))]
    pub reason: Option<Vec<String>>,
    /// The type: Normal or Warning.
    #[serde(rename = "type")]
    pub kind: Option<EventKind>,
    /// The event is about one of these kinds. Only events about Pods and Nodes lead to a node group. Both, by default.
    #[schemars(length(min = 1, max = 2))]
    pub involved_kinds: Option<Vec<InvolvedKind>>,
    /// The event is reported by one of these components, such as kubelet: its reportingController, or source.component
    /// where that is empty. The writer of an event sets both.
    #[schemars(length(min = 1, max = 20))]
    pub reporters: Option<Vec<String>>,
    /// The event is about an object in one of these namespaces. Events about Nodes have no namespace and do not match.
    #[schemars(length(min = 1, max = 100))]
    pub namespaces: Option<Vec<String>>,
}

/// A pattern for messages.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-validations" = schema::pattern_rules()))]
pub struct MessagePattern {
    /// The message contains this.
    #[schemars(length(min = 1, max = 256))]
    pub contains: Option<String>,
    /// The message matches this regular expression.
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
    /// Every occurrence of every event, of each pod or node at most maxPerObject.
    Events,
    /// Different pods.
    Pods,
    /// Different nodes.
    #[default]
    Nodes,
}

/// Which node groups may be recycled. All criteria must match.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGroupSelector {
    /// The group has one of these names.
    #[schemars(length(min = 1, max = 100))]
    pub names: Option<Vec<String>>,
    /// The event's node has all of these labels.
    pub match_labels: Option<BTreeMap<String, String>>,
}

crate::named_enum! {
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
}

/// When a recycle may start.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Schedule {
    /// The time zone: UTC or an offset such as `+02:00`. UTC, by default.
    #[schemars(schema_with = "schema::time_zone")]
    pub time_zone: Option<String>,
    /// From this time of day on. 00:00, by default.
    #[schemars(schema_with = "schema::time_of_day")]
    pub from: Option<String>,
    /// Until this time of day, of the next day where it is before `from`. 24:00, by default.
    #[schemars(schema_with = "schema::time_of_day")]
    pub to: Option<String>,
    /// On these days; the day on which the hours begin counts. Every day, by default.
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
