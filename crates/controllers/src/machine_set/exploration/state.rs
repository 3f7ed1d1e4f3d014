//! The state: API server, cache and process, with a byte per fact.

use std::time::Duration;

use super::super::snapshot::InFlight;

/// The time does not matter: it ends with [`State::expire`].
pub(super) const MAYBE: InFlight = InFlight::Maybe(Duration::from_secs(1));

/// The most names that matter at the same time.
pub(super) const SLOTS: usize = 12;
/// The most changes of the set that its cache lags behind.
const UNSEEN: usize = 2;

/// Positions in the life of a name: it does not exist, its Machine exists, is leaving, does not exist, …
const LIVE: u8 = 1;
const LEAVING: u8 = 2;
const LIFE: u8 = 3;
/// Another user's object has the name.
const FOREIGN: u8 = 255;

/// One name, and so one ordinal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a name, not states")]
pub(super) struct Slot {
    /// Its position in the API server, and in the cache.
    pub(super) real: u8,
    pub(super) seen: u8,
    /// The last write has no answer: the next observation reads it live.
    pub(super) uncertain: bool,
    /// A write of the current plan that is not sent yet.
    pub(super) pending: bool,
    /// Requests that the client has given up and the API server may still execute.
    pub(super) late_create: bool,
    pub(super) late_delete: bool,
}

fn stage(position: u8) -> u8 {
    if position == FOREIGN { FOREIGN } else { position % LIFE }
}

impl Slot {
    pub(super) fn exists(self) -> bool {
        stage(self.real) != 0
    }

    pub(super) fn is_live(self) -> bool {
        stage(self.real) == LIVE
    }

    pub(super) fn is_leaving(self) -> bool {
        stage(self.real) == LEAVING
    }

    pub(super) fn is_seen(self) -> bool {
        stage(self.seen) != 0
    }

    pub(super) fn is_member(self) -> bool {
        stage(self.seen) == LIVE
    }

    pub(super) fn is_seen_leaving(self) -> bool {
        stage(self.seen) == LEAVING
    }

    /// Whether the cached Machine is the one in the API server, by uid.
    pub(super) fn is_same(self) -> bool {
        self.real != FOREIGN && self.real / LIFE == self.seen / LIFE
    }

    pub(super) fn advance(&mut self) {
        self.real += 1;
    }

    pub(super) fn squat(&mut self) {
        self.real = FOREIGN;
    }

    pub(super) fn read(&mut self) {
        self.seen = self.real;
        self.uncertain = false;
    }

    /// One event of the watch.
    pub(super) fn watch(&mut self) {
        self.seen = if self.real == FOREIGN { FOREIGN } else { self.seen + 1 };
    }

    /// The answer that the Machine of this uid is gone: a tombstone.
    pub(super) fn bury(&mut self) {
        self.seen = (self.seen / LIFE + 1) * LIFE;
    }

    /// Whether forgetting the name changes nothing.
    fn is_over(self) -> bool {
        let Self { real, seen, pending, late_create, late_delete, .. } = self;
        let gone = real == FOREIGN || stage(real) == 0 && real == seen;
        gone && !pending && !late_create && !late_delete
    }

    /// Uids are only compared.
    fn with_first_uid(mut self) -> Self {
        if self.real != FOREIGN {
            let lives = self.seen / LIFE * LIFE;
            (self.real, self.seen) = (self.real - lives, self.seen - lives);
        }
        self
    }
}

/// A version of the MachineSet. The window is `from..next`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Set {
    pub(super) replicas: u8,
    pub(super) from: u8,
    pub(super) next: u8,
}

impl Set {
    pub(super) fn is_closed(self) -> bool {
        self.from == self.next
    }

    pub(super) fn has_window_of(self, other: Self) -> bool {
        (self.from, self.next) == (other.from, other.next)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// In the cache.
    pub(super) set: Set,
    /// Later versions, of which the last is the one in the API server.
    pub(super) unseen: [Option<Set>; UNSEEN],
    pub(super) set_uncertain: bool,
    pub(super) late_window: Option<Set>,
    pub(super) slots: [Slot; SLOTS],
    /// Whether the pending writes are deletions.
    pub(super) deletes: bool,
    /// Whether the Machines were listed for this generation.
    pub(super) listed: bool,
    /// What this process knows about creates without an answer.
    pub(super) in_flight: InFlight,
    /// Orphans that match the selector and are not adopted. They stay as they are.
    pub(super) orphans: u8,
    /// The highest number that was wanted since the set was at rest, and how many Machines were wanted to go.
    pub(super) most: u8,
    pub(super) grants: u8,
    /// What users and faults may still do.
    pub(super) users: u8,
    pub(super) faults: u8,
}

impl State {
    pub(super) fn new(replicas: u8, users: u8, faults: u8) -> Self {
        Self {
            set: Set { replicas, ..Set::default() },
            unseen: [None; UNSEEN],
            set_uncertain: false,
            late_window: None,
            slots: [Slot::default(); SLOTS],
            deletes: false,
            listed: false,
            in_flight: InFlight::No,
            orphans: 0,
            most: replicas,
            grants: 0,
            users,
            faults,
        }
    }

    pub(super) fn real(&self) -> Set {
        self.unseen.iter().rev().flatten().next().copied().unwrap_or(self.set)
    }

    pub(super) fn is_current(&self) -> bool {
        self.unseen[0].is_none()
    }

    pub(super) fn has_room(&self) -> bool {
        self.unseen[UNSEEN - 1].is_none()
    }

    /// A new version in the API server: requests for the one before will meet a conflict.
    pub(super) fn store(&mut self, set: Set) {
        if let Some(free) = self.unseen.iter_mut().find(|set| set.is_none()) {
            *free = Some(set);
        }
        self.late_window = None;
    }

    pub(super) fn watch_set(&mut self) {
        if let Some(next) = self.unseen[0] {
            // A list serves one generation.
            self.listed &= next.replicas == self.set.replicas;
            // A window that this process did not store: creates of another one may be in flight.
            if !next.has_window_of(self.set) {
                self.in_flight = if next.is_closed() { InFlight::No } else { MAYBE };
            }
            self.set = next;
            self.unseen.rotate_left(1);
            self.unseen[UNSEEN - 1] = None;
        }
    }

    pub(super) fn read_set(&mut self) {
        while !self.is_current() {
            self.watch_set();
        }
        self.set_uncertain = false;
    }

    /// A new leader: a consistent list, and an empty memory.
    pub(super) fn restart(&mut self) {
        self.read_set();
        self.slots.iter_mut().for_each(|slot| {
            slot.read();
            slot.pending = false;
        });
        (self.deletes, self.listed) = (false, false);
        self.in_flight = if self.set.is_closed() { InFlight::No } else { MAYBE };
    }

    /// A request lives for a minute; then it is executed or it is not.
    pub(super) fn expire(&mut self) {
        self.late_window = None;
        if self.in_flight == MAYBE {
            self.in_flight = InFlight::Unlisted;
        }
        for slot in &mut self.slots {
            (slot.late_create, slot.late_delete) = (false, false);
        }
    }

    pub(super) fn has_late(&self) -> bool {
        self.late_window.is_some()
            || self.slots.iter().any(|slot| slot.late_create || slot.late_delete)
    }

    pub(super) fn alive(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_live()).count()
    }

    fn is_at_rest(&self) -> bool {
        let busy = |slot: &Slot| {
            slot.real != slot.seen || slot.pending || slot.late_create || slot.late_delete
        };
        self.is_current()
            && self.set.is_closed()
            && self.alive() <= usize::from(self.set.replicas)
            && !self.slots.iter().any(busy)
    }

    /// Ordinals and uids are only compared: names without an object are forgotten, and the others move up.
    pub(super) fn canonical(mut self) -> Self {
        if self.is_at_rest() {
            (self.most, self.grants) = (self.set.replicas, 0);
        }
        let windows = self.unseen.iter().chain([&self.late_window]).flatten().chain([&self.set]);
        let base = windows.map(|set| set.from).min().unwrap_or(0);
        let slots = self.slots.map(Slot::with_first_uid);
        let (old, new) = slots.split_at(base.into());
        let mut kept = [Slot::default(); SLOTS];
        let mut count = 0;
        for slot in old.iter().filter(|slot| !slot.is_over()) {
            kept[count] = *slot;
            count += 1;
        }
        kept[count..count + new.len()].copy_from_slice(new);
        self.slots = kept;
        let by = base - u8::try_from(count).unwrap();
        let sets = self.unseen.iter_mut().chain([&mut self.late_window]).flatten();
        for set in sets.chain([&mut self.set]) {
            (set.from, set.next) = (set.from - by, set.next - by);
        }
        self
    }
}
