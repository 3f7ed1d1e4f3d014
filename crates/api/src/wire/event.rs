//! Events of the core group, with object, count and time.
//!
//! There are two generations of them in one kind: old ones have `count`, `firstTimestamp` and `source`; new ones,
//! written through `events.k8s.io`, have `eventTime`, `series` and `reportingInstance` instead.

use jiff::Timestamp;
use serde::Deserialize;

use super::{Metadata, lenient};

/// An Event.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// The metadata.
    pub metadata: Metadata,
    /// The object.
    #[serde(deserialize_with = "lenient::or_default")]
    pub involved_object: InvolvedObject,
    /// The reason.
    #[serde(deserialize_with = "lenient::or_default")]
    pub reason: String,
    /// The message.
    #[serde(deserialize_with = "lenient::or_default")]
    pub message: String,
    /// Normal or Warning.
    #[serde(rename = "type", deserialize_with = "lenient::or_default")]
    pub kind: String,
    /// The reporter.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source: EventSource,
    /// The writer (new generation); for a kubelet, its node.
    #[serde(deserialize_with = "lenient::or_default")]
    pub reporting_instance: String,
    /// How often it happened, of the old generation.
    pub count: Option<i32>,
    /// How often it happened, of the new generation, if more than once.
    pub series: Option<EventSeries>,
    /// When it happened first, of the old generation.
    #[serde(deserialize_with = "lenient::time")]
    pub first_timestamp: Option<Timestamp>,
    /// When it happened last, of the old generation.
    #[serde(deserialize_with = "lenient::time")]
    pub last_timestamp: Option<Timestamp>,
    /// When it happened first, of the new generation.
    #[serde(deserialize_with = "lenient::time")]
    pub event_time: Option<Timestamp>,
}

/// `involvedObject` of an Event.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InvolvedObject {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid; empty if the writer of the Event did not know it.
    pub uid: String,
}

/// `source` of an Event.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct EventSource {
    /// The node of the reporter.
    pub host: String,
}

/// `series` of an Event.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventSeries {
    /// How often it happened.
    pub count: i32,
    /// When it happened last.
    #[serde(deserialize_with = "lenient::time")]
    pub last_observed_time: Option<Timestamp>,
}
