//! The steps of the world.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use machinist_testbed::explore::{Model, Steps};
use serde_json::json;

use super::super::record::Record;
use super::super::rules::{Claim, Observation, Step, decide};
use super::Decide;
use super::process::{DEADLINE, HOLDERS, Holder, Kind, LEASE, Process, REQUEST, Seen, Write};

const TICK: Duration = Duration::from_secs(20);
/// Now, so that ages can be subtracted.
const NOW: Duration = Duration::from_secs(3600);

pub(super) struct World {
    pub(super) decide: Decide,
    faults: u8,
    takes_over: bool,
    /// The ticks by which the clocks may differ.
    pub(super) skew: i8,
    steps: RefCell<HashMap<(usize, Process), Next>>,
}

/// The step of the rules.
#[derive(Debug, Clone, Copy)]
enum Next {
    Create,
    Take,
    TakeOver,
    Wait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    lease: Option<Holder>,
    processes: [Process; 2],
    /// How much further the first clock is than the second.
    skew: i8,
    /// Ticks since a user deleted the Lease.
    deleted: u8,
    faults: u8,
}

#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "a counterexample prints it")]
pub(super) enum Action {
    Tick,
    /// Only this clock ticks.
    Skew(usize),
    Sees(usize),
    Sends(usize, Kind),
    /// The API server executes it.
    Executed(usize),
    Answered(usize),
    GivesUp(usize),
    LateExecuted(usize),
    LosesLease(usize),
    Killed(usize),
    Stopped(usize),
    UserDeletesLease,
}

impl World {
    pub(super) fn new(faults: u8, takes_over: bool) -> Self {
        Self { decide, faults, takes_over, skew: 0, steps: RefCell::default() }
    }

    fn decide(&self, me: usize, process: &Process) -> Next {
        let mut key = *process;
        (key.sent, key.late, key.quiet) = (None, None, 0);
        *self.steps.borrow_mut().entry((me, key)).or_insert_with(|| {
            let claim = Claim { me: name(Holder::Process(me)), take_over: key.takes_over };
            match (self.decide)(&observation(&key), claim, NOW) {
                Step::Create => Next::Create,
                Step::Take(_) => Next::Take,
                Step::TakeOver(_) => Next::TakeOver,
                Step::Wait(_) => Next::Wait,
            }
        })
    }
}

fn duration() -> Duration {
    TICK * LEASE.into()
}

fn name(holder: Holder) -> &'static str {
    match holder {
        Holder::Process(0) => "a",
        Holder::Process(_) => "b",
        Holder::Killed => "killed",
        Holder::Free => "",
    }
}

fn record(holder: Holder, version: &str) -> Record {
    let lease = json!({
        "metadata": {"name": "x", "namespace": "ns", "resourceVersion": version},
        "spec": {"holderIdentity": name(holder), "leaseDurationSeconds": 20 * u32::from(LEASE)},
    });
    Record::parse(lease.to_string().as_bytes()).unwrap()
}

const STALE: &str = "1";
const CURRENT: &str = "2";
/// The answer to an own write.
const NEW: &str = "3";

fn observation(process: &Process) -> Observation {
    let at = |age: u8| NOW.saturating_sub(TICK * age.into());
    Observation {
        record: process
            .seen
            .map(|seen| record(seen.holder, if seen.is_current { CURRENT } else { STALE })),
        changed: at(process.changed),
        deleted: HOLDERS
            .into_iter()
            .zip(process.deleted)
            .filter_map(|(holder, age)| Some((name(holder).to_owned(), at(age?) + duration())))
            .collect(),
        duration: duration(),
    }
}

/// The inverse of `observation`.
fn deleted(observed: &Observation) -> Deleted {
    HOLDERS.map(|holder| {
        let (_, expiry) = observed.deleted.iter().find(|(other, _)| other == name(holder))?;
        let age = (NOW + duration()).saturating_sub(*expiry).as_secs() / TICK.as_secs();
        u8::try_from(age).ok()
    })
}

type Deleted = [Option<u8>; 3];
type See = (Option<Seen>, u8, Deleted, Option<Seen>, &'static str);

thread_local! {
    /// Each observation is made once.
    static SEEN: RefCell<HashMap<See, (u8, Deleted)>> = RefCell::default();
}

/// The process sees what is in the API server, or the answer to its write.
fn see(process: &mut Process, lease: Option<Seen>, version: &'static str) {
    let key = (process.seen, process.changed, process.deleted, lease, version);
    let known = SEEN.with_borrow(|known| known.get(&key).copied());
    let (changed, deleted) = known.unwrap_or_else(|| {
        let mut observed = observation(process);
        observed.see(lease.map(|lease| record(lease.holder, version)), NOW);
        let changed = if observed.changed == NOW { 0 } else { process.changed };
        let deleted = deleted(&observed);
        SEEN.with_borrow_mut(|known| known.insert(key, (changed, deleted)));
        (changed, deleted)
    });
    (process.changed, process.deleted, process.seen) = (changed, deleted, lease);
}

impl State {
    fn checked(self) -> Result<Self, String> {
        let writers = self.processes.iter().filter(|process| process.may_write()).count();
        if writers > 1 { Err("two processes may write".to_owned()) } else { Ok(self) }
    }

    fn read(&mut self, me: usize) {
        let lease = self.lease.map(|holder| Seen { holder, is_current: true });
        let process = &mut self.processes[me];
        see(process, lease, CURRENT);
        // The holder reads it only after a failed renewal.
        let is_lost = self.lease != Some(Holder::Process(me)) || process.lead == Some(0);
        if process.lead.is_some() && is_lost {
            process.lose();
        }
        process.looked = true;
    }

    fn replace(&mut self, lease: Option<Holder>) {
        self.lease = lease;
        self.processes.iter_mut().for_each(Process::outdate);
    }

    fn allows(&self, write: Write) -> bool {
        match write.kind {
            Kind::Create => self.lease.is_none(),
            Kind::Replace | Kind::Release => self.lease.is_some() && write.is_current,
        }
    }

    /// The API server executes a write whose precondition holds.
    fn execute(&mut self, me: usize, write: Write) {
        self.replace(Some(match write.kind {
            Kind::Release => Holder::Free,
            _ if write.is_of_killed => Holder::Killed,
            _ => Holder::Process(me),
        }));
    }

    fn answer(&mut self, me: usize) {
        let Some(sent) = self.processes[me].sent.take() else { return };
        let process = &mut self.processes[me];
        if sent.is_done {
            let holder = Holder::Process(me);
            see(process, Some(Seen { holder, is_current: sent.is_current }), NEW);
            process.lead = Some(DEADLINE.saturating_sub(sent.age));
            process.takes_over = false;
        } else if process.lead.is_none() || !self.allows(sent) {
            // A failure to take it, or a conflict: the Lease is read.
            self.read(me);
        }
    }

    /// The process is gone, and another one starts. A request of the old one may still be executed.
    fn kill(&mut self, me: usize, release: Option<Write>) {
        let mut killed = self.processes[me];
        killed.sent = release.or(killed.sent);
        killed.give_up();
        let late = killed.late.map(|late| Write { is_of_killed: true, ..late });
        self.processes[me] = Process { late, ..Process::new(false) };
        let forget = |holder: &mut Holder| {
            if *holder == Holder::Process(me) {
                *holder = Holder::Killed;
            }
        };
        self.lease.iter_mut().for_each(forget);
        for process in &mut self.processes {
            process.seen.iter_mut().for_each(|seen| forget(&mut seen.holder));
            let [.., killed] = process.deleted;
            let gone = process.deleted[me].take();
            process.deleted[2] = gone.into_iter().chain(killed).min();
        }
    }
}

impl World {
    fn time(&self, state: &State, steps: &mut Steps<Self>) {
        let mut to = *state;
        to.processes.iter_mut().for_each(Process::tick);
        to.deleted = (to.deleted + 1).min(LEASE);
        steps.ordinary(Action::Tick, to.checked());
        for (me, skew) in [(0, state.skew + 1), (1, state.skew - 1)] {
            if skew.abs() <= self.skew {
                let mut to = State { skew, ..*state };
                to.processes[me].tick();
                steps.disturbance(Action::Skew(me), to.checked());
            }
        }
    }

    fn process(&self, state: &State, me: usize, steps: &mut Steps<Self>) {
        let process = &state.processes[me];
        let mut to = *state;
        if let Some(sent) = process.sent {
            if !sent.is_done && sent.age <= REQUEST && state.allows(sent) {
                to.execute(me, sent);
                to.processes[me].sent = Some(Write { is_done: true, is_current: true, ..sent });
                steps.ordinary(Action::Executed(me), to.checked());
            }
            let mut to = *state;
            to.answer(me);
            steps.ordinary(Action::Answered(me), to.checked());
        }
        match process.lead {
            Some(0) => {
                let mut to = *state;
                to.processes[me].give_up();
                to.processes[me].lose();
                steps.ordinary(Action::LosesLease(me), to.checked());
            }
            _ if process.sent.is_some() => {}
            Some(_) => Self::send(state, me, Kind::Replace, 0, steps),
            None if !process.looked => {
                to.read(me);
                steps.ordinary(Action::Sees(me), to.checked());
            }
            None => self.follow(state, me, steps),
        }
    }

    fn follow(&self, state: &State, me: usize, steps: &mut Steps<Self>) {
        let process = &state.processes[me];
        match self.decide(me, process) {
            Next::Create => Self::send(state, me, Kind::Create, 0, steps),
            Next::Take => Self::send(state, me, Kind::Replace, 0, steps),
            Next::TakeOver => Self::send(state, me, Kind::Replace, LEASE, steps),
            Next::Wait => {}
        }
        let is_current = process.seen.is_some_and(|seen| seen.is_current);
        if !is_current && (state.lease.is_some() || process.seen.is_some()) {
            let mut to = *state;
            to.read(me);
            steps.ordinary(Action::Sees(me), to.checked());
        }
    }

    fn send(state: &State, me: usize, kind: Kind, quiet: u8, steps: &mut Steps<Self>) {
        let mut to = *state;
        let process = &mut to.processes[me];
        process.quiet = process.quiet.max(quiet);
        let is_current = process.seen.is_some_and(|seen| seen.is_current);
        process.sent = Some(Write::new(kind, is_current));
        steps.ordinary(Action::Sends(me, kind), to.checked());
    }

    fn faults(state: &State, me: usize, steps: &mut Steps<Self>) {
        let process = &state.processes[me];
        if let Some(late) = process.late {
            let mut to = *state;
            to.processes[me].late = None;
            if state.allows(late) {
                to.execute(me, late);
            }
            steps.disturbance(Action::LateExecuted(me), to.checked());
        }
        let Some(faults) = state.faults.checked_sub(1) else { return };
        if process.sent.is_some() && process.late.is_none() {
            let mut to = State { faults, ..*state };
            to.processes[me].give_up();
            steps.disturbance(Action::GivesUp(me), to.checked());
        }
        // A process that starts after a deletion does not know the holder of the deleted Lease.
        if state.deleted < LEASE {
            return;
        }
        let mut to = State { faults, ..*state };
        to.kill(me, None);
        steps.disturbance(Action::Killed(me), to.checked());
        let holds = process.seen.filter(|seen| seen.holder == Holder::Process(me));
        let is_idle = process.sent.is_none() && process.late.is_none() && process.quiet == 0;
        if let Some(seen) = holds.filter(|_| is_idle) {
            let mut to = State { faults, ..*state };
            to.kill(me, Some(Write::new(Kind::Release, seen.is_current)));
            steps.disturbance(Action::Stopped(me), to.checked());
        }
    }

    fn delete(state: &State, steps: &mut Steps<Self>) {
        let Some(faults) = state.faults.checked_sub(1) else { return };
        let knows = |process: &Process| {
            let creates = [process.sent, process.late].into_iter().flatten();
            let creates = creates.into_iter().any(|write| write.kind == Kind::Create);
            !creates && process.seen.map(|seen| seen.holder) == state.lease
        };
        if state.lease.is_some() && state.processes.iter().all(knows) {
            let mut to = State { faults, deleted: 0, ..*state };
            to.replace(None);
            steps.disturbance(Action::UserDeletesLease, to.checked());
        }
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        State {
            lease: None,
            processes: [Process::new(false), Process::new(self.takes_over)],
            skew: 0,
            deleted: LEASE,
            faults: self.faults,
        }
    }

    fn next(&self, state: &State, steps: &mut Steps<Self>) {
        self.time(state, steps);
        for me in [0, 1] {
            self.process(state, me, steps);
            Self::faults(state, me, steps);
        }
        Self::delete(state, steps);
    }

    fn canonical(&self, mut state: State) -> State {
        for (me, process) in state.processes.iter_mut().enumerate() {
            *process = process.canonical(me);
        }
        if state.faults == 0 {
            state.deleted = LEASE;
        }
        state
    }

    fn is_desired(&self, state: &State) -> bool {
        let leads =
            |me: usize| state.processes[me].may_write() && state.lease == Some(Holder::Process(me));
        leads(0) || leads(1)
    }
}
