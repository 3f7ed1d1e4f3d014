//! Events as the caches store them. A cluster has tens of thousands, so the cache stores what a pattern can match; of
//! Events about other objects than Pods and Nodes it stores identity and count. The message is stored because patterns
//! change while Events exist.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::{CORE_EVENTS, Resource};
use machinist_api::wire;
use machinist_domain::hash::fnv1a;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::Kind;

use super::interner::name;

/// The maximum length of the name of a Pod, Node or namespace, in bytes.
const LONGEST_NAME: usize = 253;

/// The namespace of Events about objects without a namespace.
const CLUSTER_EVENTS: &str = "default";

/// The part of a message that is stored, in bytes: messages may have megabytes.
const LONGEST_MESSAGE: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub meta: Meta,
    pub count: u32,
    /// Its content; `None` if it concerns neither a Pod nor a Node.
    pub about: Option<Box<EventDetails>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDetails {
    pub message: Box<str>,
    pub reason: Arc<str>,
    pub kind: Arc<str>,
    /// The component that claims to report it.
    pub reporter: Arc<str>,
    pub involved: Involved,
    /// The host of the reporter: the Node's name, for a kubelet.
    pub host: Option<Arc<str>>,
    /// In seconds since the epoch, as `last`.
    pub first: i64,
    pub last: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Involved {
    Pod {
        namespace: Arc<str>,
        name: Arc<str>,
        /// A hash of its uid, if the Event has it.
        uid: Option<u64>,
    },
    Node(Arc<str>),
}

pub(crate) fn hash_of(uid: &str) -> u64 {
    fnv1a(uid.as_bytes())
}

/// Parses Events of the core group, which also serves those of `events.k8s.io`.
#[derive(Debug, Clone, Copy)]
pub struct Events;

impl Kind for Events {
    type Wire = wire::Event;
    type Stored = Event;
    const RESOURCE: Resource = CORE_EVENTS;

    fn project(&self, wire: wire::Event) -> Event {
        let mut meta = Meta::of(&wire.metadata);
        meta.key.namespace = name(&*meta.key.namespace);
        let series = wire.series.as_ref().map(|series| series.count);
        let count = series.max(wire.count).unwrap_or(1).max(1);
        let involved = involved(&wire.involved_object, &meta.key.namespace);
        let about = involved.map(|involved| about(wire, involved));
        Event { meta, count: count.unsigned_abs(), about: about.map(Box::new) }
    }
}

fn involved(involved: &wire::InvolvedObject, namespace: &str) -> Option<Involved> {
    let longest = involved.name.len().max(involved.namespace.len());
    if involved.name.is_empty() || longest > LONGEST_NAME {
        return None;
    }
    match involved.kind.as_str() {
        "Pod" => Some(Involved::Pod {
            namespace: name(&involved.namespace),
            name: involved.name.as_str().into(),
            uid: Some(&involved.uid).filter(|uid| !uid.is_empty()).map(|uid| hash_of(uid)),
        }),
        // The API server accepts a Node in an Event of any namespace, if the Event says that it is in there.
        "Node" if namespace == CLUSTER_EVENTS => Some(Involved::Node(name(&involved.name))),
        _ => None,
    }
}

fn about(wire: wire::Event, involved: Involved) -> EventDetails {
    // New kubelets have the Node's name in `reportingInstance`.
    let host = [wire.source.host, wire.reporting_instance].into_iter().find(|it| !it.is_empty());
    let host = host.filter(|host| host.len() <= LONGEST_NAME);
    let reporter = [wire.reporting_component, wire.source.component];
    let reporter = reporter.iter().find(|it| !it.is_empty()).map_or("", String::as_str);
    let created = wire.metadata.creation_timestamp;
    let observed = wire.series.and_then(|series| series.last_observed_time);
    let first = wire.first_timestamp.or(wire.event_time);
    let last = [observed, wire.last_timestamp, first, created].into_iter().flatten().max();
    let seconds = |time: Option<Timestamp>| time.map_or(0, Timestamp::as_second);
    EventDetails {
        message: beginning(&wire.message, LONGEST_MESSAGE).into(),
        reason: name(beginning(&wire.reason, LONGEST_NAME)),
        kind: name(beginning(&wire.kind, LONGEST_NAME)),
        reporter: name(beginning(reporter, LONGEST_NAME)),
        involved,
        host: host.map(name),
        first: seconds(first.or(last)),
        last: seconds(last),
    }
}

fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(more: &Value) -> Event {
        let mut object = json!({
            "metadata": {
                "name": "p.1", "namespace": "default", "uid": "e", "resourceVersion": "7",
                "creationTimestamp": "2026-11-16T01:00:00Z",
            },
            "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "u"},
            "reason": "Failed", "message": "no room", "type": "Warning",
        });
        for (name, value) in more.as_object().unwrap() {
            object[name] = value.clone();
        }
        Events.project(serde_json::from_value(object).unwrap())
    }

    fn about(more: &Value) -> EventDetails {
        *read(more).about.unwrap()
    }

    #[test]
    fn reads_count_and_times_of_both_event_apis() {
        let old = json!({
            "count": 4, "firstTimestamp": "2026-11-16T01:00:00Z", "lastTimestamp": "2026-11-16T01:02:00Z",
            "source": {"component": "kubelet", "host": "n1"}, "eventTime": null, "reportingInstance": "",
        });
        let new = json!({
            "eventTime": "2026-11-16T01:00:00.000001Z", "reportingInstance": "n1", "source": {},
            "series": {"count": 4, "lastObservedTime": "2026-11-16T01:02:00.000000Z"},
        });
        for generation in [old, new] {
            assert_eq!(read(&generation).count, 4);
            let about = about(&generation);
            assert_eq!(about.last - about.first, 120);
            assert_eq!(about.host.as_deref(), Some("n1"));
        }
    }

    #[test]
    fn an_event_without_count_and_times_happened_once_at_its_creation() {
        let event = read(&json!({}));
        let about = event.about.unwrap();
        assert_eq!((event.count, about.first), (1, about.last));
        assert_eq!(about.last, "2026-11-16T01:00:00Z".parse::<Timestamp>().unwrap().as_second());
        assert_eq!(about.host, None);
    }

    #[test]
    fn stores_no_content_of_events_about_other_objects() {
        for involved in
            [json!({"kind": "Deployment", "name": "d"}), json!({"kind": "Pod"}), json!(null)]
        {
            assert_eq!(read(&json!({ "involvedObject": involved })).about, None);
        }
        let node = about(&json!({"involvedObject": {"kind": "Node", "name": "n1", "uid": "n1"}}));
        assert_eq!(node.involved, Involved::Node("n1".into()));
    }

    /// The API server accepts both: it compares the two namespaces and not the kind.
    #[test]
    fn a_node_is_named_by_events_of_the_default_namespace_only() {
        let node = |namespace: &str| {
            let mut object = json!({
                "metadata": {"name": "n", "namespace": namespace},
                "involvedObject": {"kind": "Node", "name": "n1"},
            });
            if namespace != CLUSTER_EVENTS {
                object["involvedObject"]["namespace"] = json!(namespace);
            }
            Events.project(serde_json::from_value(object).unwrap()).about.is_some()
        };
        assert!(node(CLUSTER_EVENTS) && !node("team-a") && !node("kube-system"));
    }

    #[test]
    fn the_reporter_is_that_of_either_event_api() {
        for (more, reporter) in [
            (json!({"source": {"component": "kubelet"}}), "kubelet"),
            (json!({"reportingComponent": "kubelet", "source": {}}), "kubelet"),
            (json!({"reportingComponent": "a", "source": {"component": "b"}}), "a"),
            (json!({"reportingComponent": null, "source": null}), ""),
        ] {
            assert_eq!(&*about(&more).reporter, reporter, "{more}");
        }
    }

    #[test]
    fn drops_names_and_cuts_messages_that_are_too_long() {
        let (fits, long) = ("n".repeat(LONGEST_NAME), "n".repeat(LONGEST_NAME + 1));
        for (host, kept) in [(&fits, Some(fits.as_str())), (&long, None)] {
            let about = about(&json!({"source": {"host": host}}));
            assert_eq!(about.host.as_deref(), kept);
        }
        for kind in ["Pod", "Node"] {
            let of = |name: &str| json!({"involvedObject": {"kind": kind, "name": name}});
            assert!(read(&of(&fits)).about.is_some() && read(&of(&long)).about.is_none());
        }
        let elsewhere = json!({"kind": "Pod", "name": "p", "namespace": long});
        assert_eq!(read(&json!({ "involvedObject": elsewhere })).about, None);
        // Three bytes each: the last character that does not fit is left out.
        let message = about(&json!({"message": "€".repeat(LONGEST_MESSAGE)})).message;
        assert_eq!(message.len(), LONGEST_MESSAGE / 3 * 3);
        assert_eq!(&*about(&json!({"message": "no room"})).message, "no room");
    }

    #[test]
    fn the_count_is_at_least_one() {
        for count in [json!(null), json!(0), json!(-3)] {
            assert_eq!(read(&json!({ "count": count })).count, 1);
        }
    }
}
