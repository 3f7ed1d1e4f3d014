//! Notes matching Events per EventRecycler when they arrive, on followers too, and requeues the EventRecycler.
//!
//! An Event counts by how much its count grew, and at most as often as one object may. Where that is unknown, an Event
//! that is new in the window counts in full, and any other one once. After a relist the mark may lie within the growth
//! of an Event: it counts once then.
//!
//! Events arrive while their store is locked, so no cache is read while the lock of this module is held.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::queue::Queue;
use parking_lot::Mutex;

use super::counting::Counting;
use super::occurrence::Occurrence;
use super::window::minute_of;
use crate::kinds::{Event, EventRecycler};
use crate::recycler::error::Refusal;
use crate::recycler::settings::Settings;

/// From this many notes on, those out of the window are removed.
const MANY: usize = 4096;

const NOTHING: Version = Version(0);

#[derive(Debug)]
pub struct EventTracker {
    tracked: Mutex<HashMap<ObjectKey, Tracked>>,
    queue: OnceLock<Arc<Queue>>,
    clock: SharedClock,
    /// How long Events are collected for an EventRecycler that was just reconciled.
    gather: Duration,
}

#[derive(Debug)]
struct Tracked {
    uid: Uid,
    generation: i64,
    settings: Result<Arc<Settings>, Refusal>,
    mark: Version,
    /// Whether the Events in the cache were noted. Until then, changes are not.
    seeded: bool,
    unresolved: bool,
    observed: Option<Duration>,
    noted: Vec<Note>,
    most: usize,
}

/// An occurrence, from this version of an Event.
#[derive(Debug)]
struct Note {
    version: Version,
    /// The last version of the Event that is known not to include it.
    since: Version,
    occurrence: Occurrence,
}

impl Note {
    fn beyond(&self, mark: Version) -> Occurrence {
        let times = if self.since < mark { 1 } else { self.occurrence.times };
        Occurrence { times, ..self.occurrence.clone() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub settings: Result<Arc<Settings>, Refusal>,
    pub occurrences: Vec<Occurrence>,
    /// Whether there are occurrences beyond that version: a list has not ended yet.
    pub incomplete: bool,
}

impl EventTracker {
    /// An empty tracker. The first Event is handled at once; those that follow are collected for `gather`.
    pub fn new(clock: SharedClock, gather: Duration) -> Self {
        Self { tracked: Mutex::default(), queue: OnceLock::new(), clock, gather }
    }

    pub(crate) fn set_queue(&self, queue: &Arc<Queue>) {
        drop(self.queue.set(Arc::clone(queue)));
    }

    /// Tracks an EventRecycler, new or changed, and returns whether [`seed`](Self::seed) has to follow.
    pub(super) fn track(&self, recycler: &EventRecycler) -> bool {
        let mark = Counting::of(recycler).mark;
        let mut tracked = self.tracked.lock();
        let known = tracked.get_mut(&recycler.meta.key);
        if let Some(known) = known.filter(|known| known.uid == recycler.meta.uid)
            && known.generation >= recycler.generation
        {
            known.advance(mark);
            return false;
        }
        let new = Tracked {
            uid: recycler.meta.uid.clone(),
            generation: recycler.generation,
            settings: Settings::read(recycler.spec.as_deref()).map(Arc::new),
            mark,
            seeded: false,
            unresolved: true,
            observed: None,
            noted: Vec::new(),
            most: MANY,
        };
        tracked.insert(recycler.meta.key.clone(), new);
        true
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.tracked.lock().remove(key);
    }

    /// Notes a change of an Event. `position`: all changes up to it are noted; a change from a watch is at the position
    /// itself.
    pub(crate) fn event_changed(
        &self,
        before: Option<&Entry<Event>>,
        after: Option<&Entry<Event>>,
        position: Version,
    ) {
        let Some(event) = after.and_then(Entry::known) else { return };
        let former = before.and_then(Entry::known);
        let former = former.filter(|former| former.meta.uid == event.meta.uid).map(|it| &**it);
        if former.is_some_and(|former| event.count <= former.count) {
            return;
        }
        let (now, uptime) = (self.clock.now(), self.clock.uptime());
        let mut tracked = self.tracked.lock();
        for (key, one) in &mut *tracked {
            if !one.seeded || !one.note(event, former, position, now) {
                continue;
            }
            let Some(queue) = self.queue.get() else { continue };
            let due = one.observed.map(|observed| observed + self.gather);
            match due.and_then(|due| due.checked_sub(uptime)) {
                Some(wait) if !wait.is_zero() => queue.add_after(key, wait),
                _ => queue.add(key),
            }
        }
    }

    /// The occurrences of an EventRecycler after this mark, up to the version `until`.
    pub(crate) fn occurrences(
        &self,
        key: &ObjectKey,
        mark: Version,
        until: Version,
    ) -> Option<Known> {
        let mut tracked = self.tracked.lock();
        let one = tracked.get_mut(key)?;
        one.observed = Some(self.clock.uptime());
        let beyond_mark = one.noted.iter().filter(|note| note.version > mark);
        let (noted, later): (Vec<_>, Vec<_>) = beyond_mark.partition(|note| note.version <= until);
        let now = self.clock.now();
        // After a restore from a backup the version may never come: only occurrences in the window are waited for.
        let incomplete = one.settings.as_ref().is_ok_and(|settings| {
            let window = settings.window;
            later.iter().any(|note| window.has(window.bucket(note.occurrence.minute), now))
        });
        let occurrences = noted.into_iter().map(|note| note.beyond(mark)).collect();
        Some(Known { settings: one.settings.clone(), occurrences, incomplete })
    }

    pub(crate) fn set_unresolved(&self, key: &ObjectKey, unresolved: bool) {
        if let Some(one) = self.tracked.lock().get_mut(key) {
            one.unresolved = unresolved;
        }
    }

    /// Requeues EventRecyclers with unresolved occurrences: the group of one may be known now.
    pub(crate) fn requeue_unresolved(&self) {
        let Some(queue) = self.queue.get() else { return };
        for (key, _) in self.tracked.lock().iter().filter(|(_, one)| one.unresolved) {
            queue.add(key);
        }
    }

    /// Notes the Events in the cache. None may change meanwhile.
    pub(super) fn seed<'a>(&self, key: &ObjectKey, events: impl Iterator<Item = &'a Event>) {
        let now = self.clock.now();
        let mut tracked = self.tracked.lock();
        let Some(one) = tracked.get_mut(key).filter(|one| !one.seeded) else { return };
        one.seeded = true;
        let mark = one.mark;
        for event in events.filter(|event| event.meta.version > mark) {
            // How much of an Event that has grown was counted before is unknown.
            one.note(event, None, Version(u64::MAX), now);
        }
    }
}

impl Tracked {
    /// Notes by how much an Event has grown, and returns whether it matches. All changes up to `position` are noted.
    fn note(
        &mut self,
        event: &Event,
        former: Option<&Event>,
        position: Version,
        now: Timestamp,
    ) -> bool {
        let (Ok(settings), Some(about)) = (&self.settings, &event.about) else { return false };
        if !settings.pattern.fits(about) {
            return false;
        }
        // Clocks differ, and some Events have no time.
        let last = Timestamp::from_second(about.last).unwrap_or(now).min(now);
        let last = if about.last == 0 { now } else { last };
        if !settings.window.has_moment(last, now) {
            return true;
        }
        let first = Timestamp::from_second(about.first).unwrap_or(now);
        let is_new = about.first == about.last;
        let times = match former {
            Some(former) => event.count - former.count,
            None if is_new || settings.window.has_moment(first, now) => event.count,
            // It existed before with another uid.
            None => 1,
        };
        // The writer of an Event chooses its count.
        let times = times.min(settings.per_object);
        let version = event.meta.version;
        let since = match former {
            None if is_new => version,
            // A list: only the previous version is certain.
            _ if position > version => former.map_or(NOTHING, |former| former.meta.version),
            _ => position,
        };
        let minute = minute_of(last);
        let (involved, host) = (about.involved.clone(), about.host.clone());
        self.noted.push(Note {
            version,
            since,
            occurrence: Occurrence { minute, times, involved, host },
        });
        if self.noted.len() > self.most {
            let (window, mark) = (settings.window, self.mark);
            self.noted.retain(|note| {
                note.version > mark && window.has(window.bucket(note.occurrence.minute), now)
            });
            self.most = MANY.max(self.noted.len() * 2);
        }
        true
    }

    fn advance(&mut self, mark: Version) {
        if mark > self.mark {
            self.mark = mark;
            self.noted.retain(|note| note.version > mark);
            self.noted.shrink_to(MANY);
        }
    }
}

#[cfg(test)]
mod tests;
