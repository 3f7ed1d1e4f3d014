//! What has happened for which EventRecycler, noted when it happens.
//!
//! Input: every change of the cache of Events, exactly once, and the EventRecyclers. Output: for each of them what counts and is beyond the mark that
//! its status has; and its key in the queue. An Event counts by how often it happened since it was last told. Where that is not known, an
//! Event that is new in the window counts as often as it says, any other once.
//!
//! A follower notes the same. When somebody stores a further mark, what lies before it is forgotten here. Where a watch broke and a list was read, the
//! mark may lie in the middle of what an Event has added: how much of that is stored nobody knows here, and it counts once.
//!
//! Events are told while their store is locked, so this never reads a cache while it holds its own lock.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::window::minute_of;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::queue::Queue;
use parking_lot::Mutex;

use super::occurrence::Occurrence;
use crate::kinds::{About, Event, EventRecycler, Events};
use crate::recycler::error::Refusal;
use crate::recycler::observe::mark;
use crate::recycler::settings::Settings;

/// From so many on, what is out of the window is looked for and forgotten.
const MANY: usize = 4096;

/// The version before all others.
const NOTHING: Version = Version(0);

/// What has happened for which EventRecycler.
pub struct Watchers {
    followed: Mutex<HashMap<ObjectKey, Followed>>,
    queue: OnceLock<Arc<Queue>>,
    clock: SharedClock,
    /// How long events are collected for whoever was looked at a moment ago.
    gather: Duration,
}

/// The Events that are there.
pub trait EventList {
    /// Shows them, while none can come or change.
    fn show(&self, look: &mut dyn FnMut(&mut dyn Iterator<Item = &Event>));
}

impl EventList for Cache<Events> {
    fn show(&self, look: &mut dyn FnMut(&mut dyn Iterator<Item = &Event>)) {
        self.survey(|_, entries| {
            look(&mut entries.filter_map(|entry| match entry {
                Entry::Known(event) => Some(&**event),
                Entry::Undecodable(_) => None,
            }));
        });
    }
}

/// An EventRecycler, and what has happened for it.
struct Followed {
    uid: Uid,
    generation: i64,
    settings: Result<Arc<Settings>, Refusal>,
    mark: Version,
    /// Whether events that were there before it have been looked at. Until then nothing is noted.
    seeded: bool,
    /// Whether it has something that leads to no group yet.
    waits: bool,
    /// When it was last looked at.
    looked: Option<Duration>,
    noted: Vec<Note>,
    /// From so many on, what is out of the window is forgotten.
    most: usize,
}

/// Something that has happened, as an Event of this version tells it.
struct Note {
    version: Version,
    /// The last version at which the Event is known not to have told it. The watch tells every version: there it is the same one.
    since: Version,
    occurrence: Occurrence,
}

impl Note {
    /// What of it is beyond this mark, where the last of it is.
    fn beyond(&self, mark: Version) -> Occurrence {
        let times = if self.since < mark { 1 } else { self.occurrence.times };
        Occurrence { times, ..self.occurrence.clone() }
    }
}

impl std::fmt::Debug for Watchers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watchers")
            .field("followed", &self.followed.lock().len())
            .finish_non_exhaustive()
    }
}

/// What is known of an EventRecycler.
#[derive(Debug, Clone)]
pub struct Known {
    /// What it asks for.
    pub settings: Result<Arc<Settings>, Refusal>,
    /// What has happened beyond its mark, up to the version that was asked for.
    pub noted: Vec<Occurrence>,
    /// Whether more has happened, beyond that version. A list tells events one by one, and how far it goes at its end.
    pub ahead: bool,
}

impl Watchers {
    /// Nobody is followed yet. The first event is looked at when it comes; those that follow at once are collected for as long as `gather`.
    pub fn new(clock: SharedClock, gather: Duration) -> Self {
        Self { followed: Mutex::default(), queue: OnceLock::new(), clock, gather }
    }

    /// From now on keys go into this queue.
    pub fn wake(&self, queue: &Arc<Queue>) {
        // A second queue would be a second controller, and there is none.
        drop(self.queue.set(Arc::clone(queue)));
    }

    /// Takes note of an EventRecycler, new or changed. Where it looks for something else than before, the events that are there are looked at.
    pub fn follow(&self, recycler: &EventRecycler, events: &dyn EventList) {
        let mark = mark(recycler);
        {
            let mut followed = self.followed.lock();
            let known = followed.get_mut(&recycler.meta.key);
            if let Some(known) = known.filter(|known| known.uid == recycler.meta.uid)
                && known.generation >= recycler.generation
            {
                known.advance(mark);
                return;
            }
            let settings = Settings::read(recycler.spec.as_deref()).map(Arc::new);
            let new = Followed {
                uid: recycler.meta.uid.clone(),
                generation: recycler.generation,
                settings,
                mark,
                seeded: false,
                waits: true,
                looked: None,
                noted: Vec::new(),
                most: MANY,
            };
            followed.insert(recycler.meta.key.clone(), new);
        }
        self.seed(&recycler.meta.key, events);
    }

    /// Forgets an EventRecycler.
    pub fn forget(&self, key: &ObjectKey) {
        self.followed.lock().remove(key);
    }

    /// An Event has changed. Up to `position` everything was told before; what the watch tells is at the position itself.
    pub fn told(
        &self,
        before: Option<&Entry<Event>>,
        after: Option<&Entry<Event>>,
        position: Version,
    ) {
        let Some(Entry::Known(event)) = after else { return };
        let Some(about) = &event.about else { return };
        let former = match before {
            Some(Entry::Known(before)) if before.meta.uid == event.meta.uid => Some(before),
            _ => None,
        };
        if former.is_some_and(|former| event.count <= former.count) {
            return;
        }
        let since = match former {
            None if about.first == about.last => event.meta.version,
            // The watch has passed it by: nothing is certain but what was there before.
            _ if position > event.meta.version => former.map_or(NOTHING, |it| it.meta.version),
            _ => position,
        };
        let (now, uptime) = (self.clock.now(), self.clock.uptime());
        let mut followed = self.followed.lock();
        for (key, one) in &mut *followed {
            let Ok(settings) = &one.settings else { continue };
            if !one.seeded || !settings.pattern.fits(about) {
                continue;
            }
            let times = match former {
                Some(former) => event.count - former.count,
                None => times_of_new(event, about, settings, now),
            };
            one.note(event, about, (times, since), now);
            let Some(queue) = self.queue.get() else { continue };
            let due = one.looked.map(|looked| looked + self.gather);
            match due.and_then(|due| due.checked_sub(uptime)) {
                Some(wait) if !wait.is_zero() => queue.add_after(key, wait),
                _ => queue.add(key),
            }
        }
    }

    /// What is known of an EventRecycler whose status has this mark, up to the version `until`.
    pub fn known(&self, key: &ObjectKey, mark: Version, until: Version) -> Option<Known> {
        let mut followed = self.followed.lock();
        let one = followed.get_mut(key)?;
        one.looked = Some(self.clock.uptime());
        let beyond_mark = one.noted.iter().filter(|note| note.version > mark);
        let (noted, later): (Vec<_>, Vec<_>) = beyond_mark.partition(|note| note.version <= until);
        let now = self.clock.now();
        // What is out of the window is waited for by nobody: after a restore from a backup its version may never come.
        let ahead = one.settings.as_ref().is_ok_and(|settings| {
            let window = settings.window;
            later.iter().any(|note| window.has(window.bucket(note.occurrence.minute), now))
        });
        let noted = noted.into_iter().map(|note| note.beyond(mark)).collect();
        Some(Known { settings: one.settings.clone(), noted, ahead })
    }

    /// Whether the EventRecycler has something that leads to no group yet.
    pub fn waits(&self, key: &ObjectKey, waits: bool) {
        if let Some(one) = self.followed.lock().get_mut(key) {
            one.waits = waits;
        }
    }

    /// Something is known that was not: those that wait for it look again.
    pub fn wake_waiting(&self) {
        let Some(queue) = self.queue.get() else { return };
        for (key, _) in self.followed.lock().iter().filter(|(_, one)| one.waits) {
            queue.add(key);
        }
    }

    /// Looks at the events that are there, while none can come.
    fn seed(&self, key: &ObjectKey, events: &dyn EventList) {
        let now = self.clock.now();
        events.show(&mut |events| {
            let mut followed = self.followed.lock();
            let Some(one) = followed.get_mut(key).filter(|one| !one.seeded) else { return };
            one.seeded = true;
            let Ok(settings) = one.settings.clone() else { return };
            for event in events {
                let Some(about) = &event.about else { continue };
                if event.meta.version > one.mark && settings.pattern.fits(about) {
                    let times = times_of_new(event, about, &settings, now);
                    // Of one that has happened again, nobody knows how much was counted before.
                    let is_new = about.first == about.last;
                    let since = if is_new { event.meta.version } else { NOTHING };
                    one.note(event, about, (times, since), now);
                }
            }
        });
    }
}

impl Followed {
    /// Notes what an Event tells: how often it happened, and since when.
    fn note(
        &mut self,
        event: &Event,
        about: &About,
        (times, since): (u32, Version),
        now: Timestamp,
    ) {
        let Ok(settings) = &self.settings else { return };
        // Clocks differ, and some events say no time: nothing has happened in the future.
        let last = Timestamp::from_second(about.last).unwrap_or(now).min(now);
        let last = if about.last == 0 { now } else { last };
        if !settings.window.has_moment(last, now) {
            return;
        }
        let minute = minute_of(last);
        let (whom, host) = (about.whom.clone(), about.host.clone());
        let occurrence = Occurrence { minute, times, whom, host };
        self.noted.push(Note { version: event.meta.version, since, occurrence });
        if self.noted.len() > self.most {
            let (window, mark) = (settings.window, self.mark);
            self.noted.retain(|note| {
                note.version > mark && window.has(window.bucket(note.occurrence.minute), now)
            });
            self.most = MANY.max(self.noted.len() * 2);
        }
    }

    /// Somebody has stored what happened up to `mark`.
    fn advance(&mut self, mark: Version) {
        if mark > self.mark {
            self.mark = mark;
            self.noted.retain(|note| note.version > mark);
            self.noted.shrink_to(MANY);
        }
    }
}

/// How often an Event that has just appeared happened. One whose first time is long ago was there before, under another uid.
fn times_of_new(event: &Event, about: &About, settings: &Settings, now: Timestamp) -> u32 {
    let first = Timestamp::from_second(about.first).unwrap_or(now);
    let is_new = about.first == about.last || settings.window.has_moment(first, now);
    if is_new { event.count } else { 1 }
}

#[cfg(test)]
mod tests;
