//! Publishes Events (`events.k8s.io/v1`) with a rate limit per object and reason.
//!
//! kube's `Recorder` is not used: it writes again for every repeat, has no rate limit, and bypasses the gateway.
//!
//! The name of an Event derives from object, reason and note, so the same Event is never written twice, not even after
//! a restart or a lost answer. When the API server has dropped it (usually after an hour), the next resync writes it
//! again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::resource::{EVENTS, Resource};
use machinist_domain::key::Uid;
use machinist_domain::meta::Meta;
use machinist_domain::report::{EventNote, EventReason};
use parking_lot::Mutex;
use serde_json::json;

use crate::clock::SharedClock;
use crate::metrics::Metrics;
use crate::writer::{WriteError, Writer, Written};

/// Different notes per object and reason within the window.
const NOTES_PER_WINDOW: u32 = 5;
/// The number of remembered Events that triggers a sweep.
const SWEEP_AT: usize = 4096;
/// The API server's limit.
const LONGEST_NOTE: usize = 1024;

/// Publishes Events.
#[derive(Debug)]
pub struct Events {
    said: Mutex<Memory>,
    window: Duration,
    clock: SharedClock,
    metrics: Arc<Metrics>,
    identity: String,
}

/// Recently published Events.
#[derive(Debug)]
struct Memory {
    topics: HashMap<Topic, Said>,
    /// The next sweep. It grows, so that many recent Events do not cause a sweep each.
    sweep_at: usize,
}

/// Object and reason as a 128-bit hash, because thousands are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Topic([u8; 16]);

impl Topic {
    fn new(uid: &Uid, reason: EventReason) -> Self {
        Self(wide_fingerprint([&*uid.0, reason.as_str()]).to_be_bytes())
    }
}

/// Sixteen bytes, for the same reason.
#[derive(Debug)]
struct Said {
    since: Tick,
    times: u32,
    last_note: u64,
}

/// Uptime in tenths of a second.
#[derive(Debug, Clone, Copy)]
struct Tick(u32);

impl Tick {
    const LENGTH: Duration = Duration::from_millis(100);

    fn of(uptime: Duration) -> Self {
        Self(u32::try_from(uptime.as_millis() / Self::LENGTH.as_millis()).unwrap_or(u32::MAX))
    }

    fn since(self, earlier: Self) -> Duration {
        Self::LENGTH * self.0.saturating_sub(earlier.0)
    }
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
    /// Publishes for the process `identity`; an equal Event is not repeated within `window`.
    pub fn new(
        window: Duration,
        clock: SharedClock,
        metrics: Arc<Metrics>,
        identity: String,
    ) -> Self {
        let said = Mutex::new(Memory { topics: HashMap::new(), sweep_at: SWEEP_AT });
        Self { said, window, clock, metrics, identity }
    }

    /// Publishes an Event, unless it was published within the window.
    pub async fn publish(
        &self,
        writer: &Writer,
        controller: &'static str,
        regarding: Regarding<'_>,
        note: &EventNote,
    ) -> Result<(), WriteError> {
        let reason = note.reason.as_str();
        if !self.may_say(&regarding.meta.uid, note) {
            self.metrics.event(reason, "suppressed");
            return Ok(());
        }
        let namespace = match &*regarding.meta.key.namespace {
            "" => "default",
            namespace => namespace,
        };
        let event = self.event(namespace, controller, regarding, note);
        let plan = format!("say {reason} about {}", regarding.meta.key);
        match writer.create_event(namespace, &event, &plan).await {
            Ok(Written::Done) => self.metrics.event(reason, "written"),
            Ok(Written::Nothing | Written::LeftOut) => self.metrics.event(reason, "left-out"),
            Err(error) if error.already_exists() => {
                self.metrics.event(reason, "known");
            }
            Err(error) => {
                self.metrics.event(reason, "failed");
                let topic = Topic::new(&regarding.meta.uid, note.reason);
                self.said.lock().topics.remove(&topic);
                return Err(error);
            }
        }
        Ok(())
    }

    fn may_say(&self, uid: &Uid, note: &EventNote) -> bool {
        let now = Tick::of(self.clock.uptime());
        let hash = fingerprint([note.note.as_str()]);

        let mut memory = self.said.lock();
        memory.sweep(|said| now.since(said.since) < self.window);
        let fresh = Said { since: now, times: 0, last_note: hash };
        let said = memory.topics.entry(Topic::new(uid, note.reason)).or_insert(fresh);
        if now.since(said.since) >= self.window {
            *said = Said { since: now, times: 0, last_note: hash };
        }
        let repeated = said.times > 0 && said.last_note == hash;
        if repeated || said.times >= NOTES_PER_WINDOW {
            return false;
        }
        said.times += 1;
        said.last_note = hash;
        true
    }

    fn event(
        &self,
        namespace: &str,
        controller: &'static str,
        regarding: Regarding<'_>,
        note: &EventNote,
    ) -> serde_json::Value {
        let now = self.clock.now();
        let Regarding { resource, meta } = regarding;
        let subject: String = meta.key.name.chars().take(200).collect();
        let said = fingerprint([&*meta.uid.0, note.reason.as_str(), note.note.as_str()]);
        let name = format!("{subject}.{said:016x}");
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

impl Memory {
    /// Drops expired entries once there are many.
    fn sweep(&mut self, keep: impl Fn(&Said) -> bool) {
        if self.topics.len() < self.sweep_at {
            return;
        }
        self.topics.retain(|_, said| keep(said));
        self.sweep_at = SWEEP_AT.max(2 * self.topics.len());
        self.topics.shrink_to(SWEEP_AT);
    }
}

/// FNV-1a, which is stable across builds.
fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// The same with 128 bits.
fn wide_fingerprint<'a>(parts: impl IntoIterator<Item = &'a str>) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use machinist_domain::report::EventType;

    use super::*;
    use crate::clock::ManualClock;

    fn note(text: &str) -> EventNote {
        EventNote {
            event_type: EventType::Warning,
            reason: EventReason::FailedUpdate,
            action: "Annotate",
            note: text.to_owned(),
        }
    }

    #[test]
    fn equal_events_are_limited_to_one_and_others_to_a_few_per_window() {
        let clock = Arc::new(ManualClock::default());
        let window = Duration::from_secs(600);
        let events = Events::new(window, clock.clone(), Arc::default(), "me".to_owned());
        let (a, b) = (Uid("a".into()), Uid("b".into()));
        assert!(events.may_say(&a, &note("x")));
        assert!(!events.may_say(&a, &note("x")));
        assert!(events.may_say(&b, &note("x")), "another object has its own limit");
        for n in 1..NOTES_PER_WINDOW {
            assert!(events.may_say(&a, &note(&n.to_string())));
        }
        assert!(!events.may_say(&a, &note("one too many")));
        clock.advance(window);
        assert!(events.may_say(&a, &note("x")));
    }

    #[test]
    fn sweep_drops_expired_entries_only() {
        let clock = Arc::new(ManualClock::default());
        let window = Duration::from_secs(600);
        let events = Events::new(window, clock.clone(), Arc::default(), "me".to_owned());
        let say = |n: usize| events.may_say(&Uid(format!("uid-{n}").into()), &note("x"));
        assert!((0..SWEEP_AT).all(say));
        clock.advance(window / 2);
        assert!((SWEEP_AT..2 * SWEEP_AT).all(say));
        clock.advance(window / 2);
        assert!(say(2 * SWEEP_AT));
        assert_eq!(events.said.lock().topics.len(), SWEEP_AT + 1, "the first half is over");
        assert!(!say(SWEEP_AT), "the second is not");
    }

    #[test]
    fn topics_differ_in_object_and_reason() {
        let (a, b) = (Uid("a".into()), Uid("b".into()));
        let topic = |uid| Topic::new(uid, EventReason::FailedUpdate);
        assert_eq!(topic(&a), topic(&a));
        assert_ne!(topic(&a), topic(&b));
        assert_ne!(topic(&a), Topic::new(&a, EventReason::Annotated));
    }
}
