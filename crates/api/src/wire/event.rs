//! Events of the core group, in two generations: old ones have `count`, `firstTimestamp` and `source`; new ones,
//! written through `events.k8s.io`, have `eventTime`, `series` and `reportingInstance` instead.

use jiff::Timestamp;
use serde::Deserialize;
use serde_with::apply;

use super::{Metadata, lenient};

#[apply(
    String => #[serde(deserialize_with = "lenient::or_default")],
    Option<Timestamp> => #[serde(deserialize_with = "lenient::time")],
)]
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub involved_object: InvolvedObject,
    pub reason: String,
    pub message: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(deserialize_with = "lenient::or_default")]
    pub source: EventSource,
    /// The component that reports it; `reportingController` of `events.k8s.io`.
    pub reporting_component: String,
    /// The writer (new generation); for a kubelet, its node.
    pub reporting_instance: String,
    pub count: Option<i32>,
    /// How often it happened, of the new generation, if more than once.
    pub series: Option<EventSeries>,
    pub first_timestamp: Option<Timestamp>,
    pub last_timestamp: Option<Timestamp>,
    /// When it happened first, of the new generation.
    pub event_time: Option<Timestamp>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InvolvedObject {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// Its uid; empty if the writer of the Event did not know it.
    pub uid: String,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct EventSource {
    pub component: String,
    pub host: String,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventSeries {
    pub count: i32,
    #[serde(deserialize_with = "lenient::time")]
    pub last_observed_time: Option<Timestamp>,
}
