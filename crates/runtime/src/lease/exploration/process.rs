//! One process: what it has seen, what it may do, and its writes of the Lease that are not answered.

/// The duration of a lease in ticks, how much of it the holder may use, how long a client waits for an answer, and how
/// long the API server executes a request.
pub(super) const LEASE: u8 = 6;
pub(super) const DEADLINE: u8 = LEASE * 2 / 3;
const PATIENCE: u8 = 2;
pub(super) const REQUEST: u8 = LEASE / 2;

/// Who holds the Lease. A killed process never comes back: its successor has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    Process(usize),
    Killed,
    Free,
}

/// Who may hold a Lease that is deleted, by index.
pub(super) const HOLDERS: [Holder; 3] = [Holder::Process(0), Holder::Process(1), Holder::Killed];

/// The last record that the process has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) holder: Holder,
    /// Whether it is the version in the API server.
    pub(super) is_current: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Create,
    Replace,
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Write {
    pub(super) kind: Kind,
    /// Ticks since it was sent.
    pub(super) age: u8,
    /// Whether the version that it replaces is in the API server; after it was executed, whether its result is.
    pub(super) is_current: bool,
    pub(super) is_done: bool,
    /// Whether a process sent it that was killed since.
    pub(super) is_of_killed: bool,
}

impl Write {
    pub(super) fn new(kind: Kind, is_current: bool) -> Self {
        Self { kind, age: 0, is_current, is_done: false, is_of_killed: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    /// Whether it has read the Lease since it started or lost it.
    pub(super) looked: bool,
    pub(super) seen: Option<Seen>,
    /// Ticks since the process saw it change.
    pub(super) changed: u8,
    /// By holder (`HOLDERS`): ticks since the process saw its Lease deleted.
    pub(super) deleted: [Option<u8>; 3],
    /// While it holds the Lease: the ticks for which it may write.
    pub(super) lead: Option<u8>,
    /// The ticks for which it must not, because of a takeover.
    pub(super) quiet: u8,
    pub(super) takes_over: bool,
    pub(super) sent: Option<Write>,
    /// A request that it has given up.
    pub(super) late: Option<Write>,
}

impl Process {
    pub(super) fn new(takes_over: bool) -> Self {
        Self {
            looked: false,
            seen: None,
            changed: 0,
            deleted: [None; 3],
            lead: None,
            quiet: 0,
            takes_over,
            sent: None,
            late: None,
        }
    }

    pub(super) fn may_write(&self) -> bool {
        self.lead.is_some_and(|left| left > 0) && self.quiet == 0
    }

    /// Its clock.
    pub(super) fn tick(&mut self) {
        let older = |age: &mut u8| *age = (*age + 1).min(LEASE);
        older(&mut self.changed);
        self.deleted.iter_mut().flatten().for_each(older);
        self.lead = self.lead.map(|left| left.saturating_sub(1));
        self.quiet = self.quiet.saturating_sub(1);
        if let Some(sent) = &mut self.sent {
            older(&mut sent.age);
        }
        if let Some(late) = &mut self.late {
            late.age += 1;
        }
        if self.sent.is_some_and(|sent| sent.age > PATIENCE) {
            self.give_up();
        }
        self.late = self.late.filter(|late| late.age <= REQUEST);
    }

    /// Forgets what cannot matter any more.
    pub(super) fn canonical(mut self, me: usize) -> Self {
        // A holder reads its Lease before it depends on when that changed.
        if self.lead.is_some() {
            self.changed = 0;
        }
        for (holder, age) in self.deleted.iter_mut().enumerate() {
            *age = age.filter(|age| *age < LEASE && holder != me);
        }
        self
    }

    pub(super) fn lose(&mut self) {
        (self.lead, self.looked) = (None, false);
    }

    /// The model has one request that was given up; another one is not executed any more.
    pub(super) fn give_up(&mut self) {
        let sent = self.sent.take().filter(|sent| !sent.is_done && sent.age <= REQUEST);
        self.late = self.late.or(sent);
        // A holder renews again; another process reads the Lease first.
        self.looked = self.lead.is_some();
    }

    /// The Lease has another version.
    pub(super) fn outdate(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.is_current = false;
        }
        for write in [&mut self.sent, &mut self.late].into_iter().flatten() {
            write.is_current = false;
        }
    }
}
