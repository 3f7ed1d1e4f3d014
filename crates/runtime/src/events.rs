//! Publishes Events (`events.k8s.io/v1`, or of the core group where only these may be created) with a rate limit per
//! object and reason.
//!
//! kube's `Recorder` is not used: it writes again for every repeat, has no rate limit, and bypasses the gateway. The
//! name derives from object, reason and note, so no Event is written twice, not even after a restart or a lost answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinist_api::resource::{CORE_EVENTS, EVENTS, Resource};
use machinist_domain::expiring::ExpiringMap;
use machinist_domain::hash::fnv1a;
use machinist_domain::key::Uid;
use machinist_domain::meta::Meta;
use machinist_domain::report::{EventNote, EventReason};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::clock::SharedClock;
use crate::metrics::Metrics;
use crate::writer::{WriteError, Writer};

/// Different notes per object and reason within the window.
const NOTES_PER_WINDOW: u32 = 5;
/// The API server's limit.
const LONGEST_NOTE: usize = 1024;

/// Publishes Events.
#[derive(Debug)]
pub struct Events {
    /// What was published within the window, by the hash of object and reason: thousands are remembered.
    published: Mutex<ExpiringMap<u64, Published>>,
    window: Duration,
    clock: SharedClock,
    metrics: Arc<Metrics>,
    identity: String,
    /// Whether only Events of the core group may be created, as the last answer showed.
    only_core: AtomicBool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Published {
    times: u32,
    last_note: u64,
}

/// The object of an Event.
#[derive(Debug, Clone, Copy)]
pub struct Regarding<'a> {
    /// The kind.
    pub resource: Resource,
    /// Identity and version.
    pub meta: &'a Meta,
}

impl Events {
    pub(crate) fn new(
        window: Duration,
        clock: SharedClock,
        metrics: Arc<Metrics>,
        identity: String,
    ) -> Self {
        let only_core = AtomicBool::new(false);
        Self { published: Mutex::default(), window, clock, metrics, identity, only_core }
    }

    /// Publishes an Event, unless it was published within the window.
    pub(crate) async fn publish(
        &self,
        writer: &Writer,
        controller: &'static str,
        regarding: Regarding<'_>,
        note: &EventNote,
    ) -> Result<(), WriteError> {
        let reason = note.reason.as_str();
        if !self.may_publish(&regarding.meta.uid, note) {
            self.metrics.event(reason, "suppressed");
            return Ok(());
        }
        let namespace = match &*regarding.meta.key.namespace {
            "" => "default",
            namespace => namespace,
        };
        let event = self.event(namespace, controller, regarding, note);
        let plan = format!("publish Event {reason} of {}", regarding.meta.key);
        let (result, ended) = match self.create(writer, namespace, &event, &plan).await {
            Ok(Some(())) => ("written", Ok(())),
            Ok(None) => ("left-out", Ok(())),
            Err(error) if error.already_exists() => ("known", Ok(())),
            Err(error) => {
                self.published.lock().remove(&topic(&regarding.meta.uid, note.reason));
                ("failed", Err(error))
            }
        };
        self.metrics.event(reason, result);
        ended
    }

    /// Both groups have the same objects, each with a right of its own. The one that was allowed last is tried first.
    async fn create(
        &self,
        writer: &Writer,
        namespace: &str,
        event: &Value,
        plan: &str,
    ) -> Result<Option<()>, WriteError> {
        let core = self.only_core.load(Ordering::Relaxed);
        let first = self.create_in(core, writer, namespace, event, plan).await;
        if !first.as_ref().is_err_and(WriteError::is_forbidden) {
            return first;
        }
        let second = self.create_in(!core, writer, namespace, event, plan).await;
        if second.as_ref().is_err_and(WriteError::is_forbidden) {
            return first;
        }
        if !self.only_core.swap(!core, Ordering::Relaxed) {
            tracing::warn!("not allowed to create events.k8s.io Events; using core Events");
        }
        second
    }

    async fn create_in(
        &self,
        core: bool,
        writer: &Writer,
        namespace: &str,
        event: &Value,
        plan: &str,
    ) -> Result<Option<()>, WriteError> {
        if core {
            writer.create_event(CORE_EVENTS, namespace, &core_form(event), &plan).await
        } else {
            writer.create_event(EVENTS, namespace, event, &plan).await
        }
    }

    fn may_publish(&self, uid: &Uid, note: &EventNote) -> bool {
        let (now, topic) = (self.clock.uptime(), topic(uid, note.reason));
        let last_note = fnv1a(note.note.as_bytes());
        let mut memory = self.published.lock();
        let published = memory.get(&topic, now).copied().unwrap_or_default();
        let repeated = published.times > 0 && published.last_note == last_note;
        if repeated || published.times >= NOTES_PER_WINDOW {
            return false;
        }
        let published = Published { times: published.times + 1, last_note };
        if published.times == 1 {
            memory.insert(topic, published, now, self.window);
        } else {
            memory.update(&topic, |before| {
                *before = published;
                self.window
            });
        }
        true
    }

    fn event(
        &self,
        namespace: &str,
        controller: &'static str,
        regarding: Regarding<'_>,
        note: &EventNote,
    ) -> Value {
        let now = self.clock.now();
        let Regarding { resource, meta } = regarding;
        let subject: String = meta.key.name.chars().take(200).collect();
        let published = format!("{}\0{}\0{}\0", meta.uid, note.reason.as_str(), note.note);
        let name = format!("{subject}.{:016x}", fnv1a(published.as_bytes()));
        let mut text = note.note.clone();
        if text.len() > LONGEST_NOTE {
            text.truncate(text.floor_char_boundary(LONGEST_NOTE - 3));
            text.push_str("...");
        }
        json!({
            "apiVersion": EVENTS.api_version(),
            "kind": EVENTS.kind,
            "metadata": {"namespace": namespace, "name": name},
            "eventTime": format!("{now:.6}"),
            "type": note.event_type.as_str(),
            "reason": note.reason.as_str(),
            "action": note.action,
            "note": text,
            "reportingController": format!("machinist.dev/{controller}"),
            "reportingInstance": self.identity,
            "regarding": {
                "apiVersion": resource.api_version(),
                "kind": resource.kind,
                "namespace": &*meta.key.namespace,
                "name": &*meta.key.name,
                "uid": &*meta.uid.0,
                "resourceVersion": meta.version.to_string(),
            },
        })
    }
}

/// The same Event with the field names of the core group.
fn core_form(event: &Value) -> Value {
    let mut core = event.clone();
    core["apiVersion"] = CORE_EVENTS.api_version().into();
    if let Value::Object(fields) = &mut core {
        for (name, core_name) in [
            ("note", "message"),
            ("regarding", "involvedObject"),
            ("reportingController", "reportingComponent"),
        ] {
            if let Some(value) = fields.remove(name) {
                fields.insert(core_name.to_owned(), value);
            }
        }
    }
    core
}

fn topic(uid: &Uid, reason: EventReason) -> u64 {
    fnv1a(format!("{uid}\0{}", reason.as_str()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn note(text: &str) -> EventNote {
        EventNote::warning(EventReason::FailedUpdate, "Annotate", text)
    }

    #[test]
    fn equal_events_are_limited_to_one_and_others_to_a_few_per_window() {
        let clock = Arc::new(ManualClock::default());
        let window = Duration::from_secs(600);
        let events = Events::new(window, clock.clone(), Arc::default(), "me".to_owned());
        let (a, b) = (Uid("a".into()), Uid("b".into()));
        assert!(events.may_publish(&a, &note("x")));
        assert!(!events.may_publish(&a, &note("x")));
        assert!(events.may_publish(&b, &note("x")), "another object has its own limit");
        for n in 1..NOTES_PER_WINDOW {
            assert!(events.may_publish(&a, &note(&n.to_string())));
        }
        assert!(!events.may_publish(&a, &note("one too many")));
        clock.advance(window);
        assert!(events.may_publish(&a, &note("x")));
    }

    #[test]
    fn event_names_do_not_change() {
        let clock = Arc::new(ManualClock::default());
        let events = Events::new(Duration::ZERO, clock, Arc::default(), "me".to_owned());
        let meta = Meta {
            key: machinist_domain::key::ObjectKey::new("ns", "a"),
            uid: Uid("uid".into()),
            version: machinist_domain::key::Version(1),
            deleting: false,
        };
        let regarding = Regarding { resource: EVENTS, meta: &meta };
        let event = events.event("ns", "test", regarding, &note("x"));
        assert_eq!(event["metadata"]["name"], "a.bbf4ad4b040260e1");
    }

    #[test]
    fn core_events_have_the_same_content_under_the_older_names() {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "x", "regarding": {"uid": "u"},
            "reportingController": "machinist.dev/test", "reportingInstance": "me", "action": "Annotate",
        });
        let expected = json!({
            "apiVersion": "v1", "kind": "Event", "message": "x", "involvedObject": {"uid": "u"},
            "reportingComponent": "machinist.dev/test", "reportingInstance": "me", "action": "Annotate",
        });
        assert_eq!(core_form(&event), expected);
    }

    #[test]
    fn topics_differ_in_object_and_reason() {
        let (a, b) = (Uid("a".into()), Uid("b".into()));
        let failed = |uid| topic(uid, EventReason::FailedUpdate);
        assert_eq!(failed(&a), failed(&a));
        assert_ne!(failed(&a), failed(&b));
        assert_ne!(failed(&a), topic(&a, EventReason::Annotated));
    }
}
