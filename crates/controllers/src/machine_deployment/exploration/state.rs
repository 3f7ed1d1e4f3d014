//! The state: API server, caches and process. A cache has a version of each object, a lagging one an old version.

/// Templates, and so MachineSets; a set's index is its template.
pub(super) const SETS: usize = 3;
/// The most names of a set that matter at the same time.
pub(super) const SLOTS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) enum Life {
    #[default]
    Absent,
    /// Its Node is not ready, or there is none.
    Starting,
    Available,
    Leaving,
    /// The name is not used again.
    Gone,
}

/// One name, and so one ordinal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a name, not states")]
pub(super) struct Slot {
    /// In the API server, and in the cache.
    pub(super) real: Life,
    pub(super) seen: Life,
    /// Whether the name is reserved.
    pub(super) window: bool,
    pub(super) window_seen: bool,
    /// Whether the Machine is marked for deletion.
    pub(super) marked: bool,
    pub(super) marked_seen: bool,
    /// Whether a patch that sets the mark may still be executed.
    pub(super) late_mark: bool,
    /// Whether the MachineSet controller has chosen the Machine for deletion.
    pub(super) doomed: bool,
}

impl Slot {
    pub(super) fn is_member(self) -> bool {
        matches!(self.real, Life::Starting | Life::Available)
    }

    pub(super) fn exists(self) -> bool {
        self.is_member() || self.real == Life::Leaving
    }

    /// Whether the MachineSet may create it.
    pub(super) fn is_open(self) -> bool {
        self.window && self.real == Life::Absent
    }

    pub(super) fn is_free(self) -> bool {
        self == Self::default()
    }

    pub(super) fn is_seen_open(self) -> bool {
        self.window_seen && self.seen == Life::Absent
    }

    pub(super) fn read(&mut self) {
        self.seen = if self.real == Life::Gone { Life::Absent } else { self.real };
        self.marked_seen = self.marked;
    }

    pub(super) fn is_current(self) -> bool {
        let mut read = self;
        read.read();
        read == self
    }

    /// A name without an object that no cache has reserved is forgotten.
    fn canonical(self) -> Self {
        let over = self.real == Life::Gone && self.seen == Life::Absent;
        if over && !self.window && !self.window_seen { Self::default() } else { self }
    }
}

/// A write that the client has given up and the API server may still execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Late {
    Create(u8),
    Scale(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a set, not states")]
pub(super) struct Set {
    pub(super) exists: bool,
    pub(super) exists_seen: bool,
    pub(super) desired: u8,
    pub(super) desired_seen: u8,
    /// Only the deployment's controller changes it, and what a guarded rollout stores.
    pub(super) revision: u8,
    pub(super) passed: bool,
    pub(super) aborted: bool,
    /// Whether the cache misses a version.
    pub(super) is_stale: bool,
    pub(super) late: Option<Late>,
    /// The size that the process knows to have no answer.
    pub(super) unanswered: Option<u8>,
    pub(super) slots: [Slot; SLOTS],
}

impl Set {
    /// With so many available Machines.
    pub(super) fn settled(desired: u8, revision: u8) -> Self {
        let mut set = Self { exists: true, exists_seen: true, revision, ..Self::default() };
        (set.desired, set.desired_seen) = (desired, desired);
        for slot in set.slots.iter_mut().take(desired.into()) {
            (slot.real, slot.seen) = (Life::Available, Life::Available);
        }
        set
    }

    pub(super) fn count(&self, test: impl Fn(Slot) -> bool) -> usize {
        self.slots.iter().filter(|slot| test(**slot)).count()
    }

    pub(super) fn has_window(&self) -> bool {
        self.slots.iter().any(|slot| slot.window)
    }

    pub(super) fn forget_late(&mut self) {
        (self.late, self.unanswered) = (None, None);
    }

    /// A new version: requests for the one before will meet a conflict.
    pub(super) fn change(&mut self) {
        self.is_stale = true;
        self.late = None;
    }

    fn is_at_rest(&self) -> bool {
        let slot =
            |slot: &Slot| slot.is_current() && !slot.window && !slot.doomed && !slot.late_mark;
        let members = self.count(Slot::is_member);
        let desired = usize::from(self.desired);
        !self.is_stale
            && self.late.is_none()
            && (members == desired || self.aborted && members < desired)
            && self.count(Slot::exists) == members
            && self.slots.iter().all(slot)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) template: u8,
    pub(super) template_seen: u8,
    /// The revision on the deployment.
    pub(super) revision: u8,
    pub(super) sets: [Set; SETS],
    /// What the process remembers.
    pub(super) doubtful: bool,
    pub(super) listed: bool,
    /// Machines that died by themselves since the last rest.
    pub(super) died: u8,
    /// What users, faults and Machines may still do.
    pub(super) edits: u8,
    pub(super) faults: u8,
    pub(super) deaths: u8,
}

impl State {
    pub(super) fn existing(&self) -> usize {
        self.sets.iter().map(|set| set.count(Slot::exists)).sum()
    }

    pub(super) fn available(&self) -> usize {
        self.sets.iter().map(|set| set.count(|slot| slot.real == Life::Available)).sum()
    }

    pub(super) fn see_set(&mut self, at: usize) {
        let set = &mut self.sets[at];
        if set.is_stale {
            self.listed = false;
            set.unanswered = None;
        }
        set.is_stale = false;
        (set.exists_seen, set.desired_seen) = (set.exists, set.desired);
        set.slots.iter_mut().for_each(|slot| slot.window_seen = slot.window);
    }

    pub(super) fn see_machines(&mut self) {
        self.sets.iter_mut().flat_map(|set| &mut set.slots).for_each(Slot::read);
    }

    /// A new leader: consistent lists, and an empty memory. Another process may have scaled sets down.
    pub(super) fn restart(&mut self) {
        self.template_seen = self.template;
        (0..SETS).for_each(|at| self.see_set(at));
        self.see_machines();
        (self.doubtful, self.listed) = (true, false);
        self.sets.iter_mut().for_each(|set| set.unanswered = None);
    }

    /// Whether nothing is under way, apart from what the deployment's controller does next.
    pub(super) fn is_at_rest(&self) -> bool {
        self.template == self.template_seen && self.sets.iter().all(Set::is_at_rest)
    }

    /// Two available Machines of the template, and no others.
    pub(super) fn is_complete(&self) -> bool {
        let wanted = |at: usize| if at == usize::from(self.template) { 2 } else { 0 };
        let is_available = |slot: Slot| slot.real == Life::Available && !slot.marked;
        self.is_at_rest()
            && self.sets.iter().enumerate().all(|(at, set)| {
                set.count(is_available) == wanted(at) && usize::from(set.desired) == wanted(at)
            })
    }

    /// The rollout of the template is stopped, and two Machines of earlier ones are available.
    pub(super) fn is_aborted(&self) -> bool {
        let is_aborted = self.sets[usize::from(self.template)].aborted;
        is_aborted && self.is_at_rest() && self.available() >= 2
    }

    /// Names are only compared.
    pub(super) fn canonical(mut self) -> Self {
        for set in &mut self.sets {
            set.slots = set.slots.map(Slot::canonical);
            set.slots.sort_unstable();
        }
        if self.is_complete() {
            self.died = 0;
        }
        self
    }
}
