//! Every reachable state of a freeze that users begin and end, with two controllers in two processes of which one leads
//! at a time. The ledger, `permit` and the condition are the real ones. The model has the watch of each process, which
//! lags by any time, the queues of the leader, reconciles that begin before and end after any change, status updates
//! that are refused, restarts, and changes of the leader.
//!
//! It shows that no process sends a change against a freeze that it has seen, or before it has read what is frozen, and
//! that after the last disturbance the conditions are right and what was held back is done, without a timer.

mod not_ready;

use jiff::Timestamp;
use machinist_domain::conditions::Condition;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::{ReconcileResult, Report};
use machinist_domain::safety::{
    Effect, EffectKind, Freeze, Initiator, Ledger, ObjectRef, Reason, Scope, permit, with_condition,
};
use machinist_testbed::explore::{Counterexample, Model, Steps, explore, find_bug, is_large};

const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Process {
    /// Whether it has read that the cluster is frozen; `None` before the first list.
    knows: Option<bool>,
    /// The ledger has changed, and the queues are not notified yet.
    unnotified: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Phase {
    #[default]
    Idle,
    Acting,
    Reporting,
}

/// One object and its controller in the leading process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Controller {
    queued: bool,
    phase: Phase,
    /// Whether the change that its user wants is made.
    done: bool,
    /// Whether the object has the condition `Frozen`.
    condition: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    frozen: bool,
    processes: [Process; 2],
    leader: usize,
    controllers: [Controller; 2],
    users: u8,
    faults: u8,
}

#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "a counterexample prints it")]
enum Action {
    Toggle,
    Wants(usize),
    Sees(usize),
    Notifies(usize),
    Takes(usize),
    Sends(usize),
    Reports(usize),
    StatusRefused(usize),
    Restarts(usize),
    Leads(usize),
}

struct World {
    users: u8,
    faults: u8,
    /// Bugs that the exploration has to find.
    starts_unread: bool,
    notifies_first: bool,
}

impl World {
    fn new(users: u8, faults: u8) -> Self {
        Self { users, faults, starts_unread: false, notifies_first: false }
    }
}

fn ledger(knows: Option<bool>) -> Ledger {
    let mut ledger = Ledger::default();
    if knows == Some(true) {
        let (source, text) = ("ConfigMap".into(), "".into());
        let freeze = Freeze { reason: Reason::Requested, since: NOW, source, text };
        ledger.begin(Scope::Cluster, freeze);
    }
    ledger
}

fn lineage(at: usize) -> Vec<ObjectRef> {
    let kind = ["MachineSet", "EventRecycler"][at];
    vec![ObjectRef { kind, key: ObjectKey::new("ns", "a") }]
}

/// The condition after a report.
fn condition_after(stored: bool, at: usize, ledger: &Ledger) -> bool {
    let freeze = ledger.on(&lineage(at)).next().map(|(_, freeze)| freeze.clone());
    let list: Vec<_> =
        stored.then(|| Condition::yes("Frozen").because("Requested", "")).into_iter().collect();
    let report = Report::quiet(ReconcileResult::Settled);
    let report = with_condition(report, &list, freeze.as_ref(), NOW);
    report.status.map_or(stored, |status| status["conditions"][0].is_object())
}

impl State {
    fn notify(&mut self, process: usize) {
        if process == self.leader {
            self.controllers.iter_mut().for_each(|one| one.queued = true);
        }
    }

    /// A new leader enqueues everything.
    fn lead(&mut self, process: usize) {
        self.leader = process;
        for one in &mut self.controllers {
            *one = Controller { queued: true, phase: Phase::Idle, ..*one };
        }
    }
}

impl World {
    fn controller(&self, state: &State, at: usize, steps: &mut Steps<Self>) {
        let one = state.controllers[at];
        let knows = state.processes[state.leader].knows;
        let ledger = ledger(knows);
        let mut to = *state;
        match one.phase {
            Phase::Idle if one.queued && (knows.is_some() || self.starts_unread) => {
                to.controllers[at] = Controller { queued: false, phase: Phase::Acting, ..one };
                steps.ordinary(Action::Takes(at), Ok(to));
            }
            Phase::Idle => {}
            Phase::Acting => {
                let (kind, initiator) = (EffectKind::Create, Initiator::User);
                let effect = Effect { kind, initiator, lineage: lineage(at) };
                let sent = !one.done && permit(&effect, &ledger).is_ok();
                to.controllers[at] =
                    Controller { phase: Phase::Reporting, done: one.done || sent, ..one };
                let broken = sent && state.frozen && knows != Some(false);
                let broken = broken.then(|| "a change is sent against a freeze".to_owned());
                steps.ordinary(Action::Sends(at), broken.map_or(Ok(to), Err));
            }
            Phase::Reporting => {
                let condition = condition_after(one.condition, at, &ledger);
                // What was refused waits for the end of the freeze, unless it has ended meanwhile.
                let again = !one.done && permit_all(&ledger, at);
                let queued = one.queued || again;
                to.controllers[at] = Controller { phase: Phase::Idle, condition, queued, ..one };
                steps.ordinary(Action::Reports(at), Ok(to));
                if condition != one.condition && state.faults > 0 {
                    to.controllers[at] = Controller { phase: Phase::Idle, queued: true, ..one };
                    to.faults -= 1;
                    steps.disturbance(Action::StatusRefused(at), Ok(to));
                }
            }
        }
    }

    fn process(&self, state: &State, at: usize, steps: &mut Steps<Self>) {
        let one = state.processes[at];
        if one.unnotified {
            let mut to = *state;
            to.processes[at].unnotified = false;
            if self.notifies_first {
                to.processes[at].knows = Some(state.frozen);
            } else {
                to.notify(at);
            }
            steps.ordinary(Action::Notifies(at), Ok(to));
        } else if one.knows != Some(state.frozen) {
            let mut to = *state;
            to.processes[at].unnotified = true;
            if self.notifies_first {
                to.notify(at);
            } else {
                to.processes[at].knows = Some(state.frozen);
            }
            steps.ordinary(Action::Sees(at), Ok(to));
        }
        if let Some(faults) = state.faults.checked_sub(1) {
            let mut to = State { faults, ..*state };
            to.processes[at] = Process::default();
            if at == state.leader {
                to.lead(at);
            }
            steps.disturbance(Action::Restarts(at), Ok(to));
            if at != state.leader {
                let mut to = State { faults, ..*state };
                to.lead(at);
                steps.disturbance(Action::Leads(at), Ok(to));
            }
        }
    }
}

fn permit_all(ledger: &Ledger, at: usize) -> bool {
    let initiator = Initiator::User;
    let effect = |kind| Effect { kind, initiator, lineage: lineage(at) };
    EffectKind::ALL.into_iter().all(|kind| permit(&effect(kind), ledger).is_ok())
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        State {
            frozen: false,
            processes: [Process::default(); 2],
            leader: 0,
            controllers: [Controller { queued: true, ..Controller::default() }; 2],
            users: self.users,
            faults: self.faults,
        }
    }

    fn next(&self, state: &State, steps: &mut Steps<Self>) {
        for at in 0..2 {
            self.controller(state, at, steps);
            self.process(state, at, steps);
        }
        let Some(users) = state.users.checked_sub(1) else { return };
        steps.disturbance(Action::Toggle, Ok(State { frozen: !state.frozen, users, ..*state }));
        for at in (0..2).filter(|at| state.controllers[*at].done) {
            let mut to = State { users, ..*state };
            to.controllers[at].done = false;
            to.controllers[at].queued = true;
            steps.disturbance(Action::Wants(at), Ok(to));
        }
    }

    fn is_desired(&self, state: &State) -> bool {
        let current = |one: &Process| one.knows == Some(state.frozen) && !one.unnotified;
        let settled = |one: &Controller| {
            let rests = one.phase == Phase::Idle && !one.queued;
            rests && one.condition == state.frozen && (one.done || state.frozen)
        };
        state.processes.iter().all(current) && state.controllers.iter().all(settled)
    }
}

#[test]
fn explore_freezes() -> Result<(), Counterexample> {
    let (users, faults) = if is_large() { (4, 3) } else { (3, 2) };
    let name = format!("a freeze, {users} actions of users, {faults} faults");
    explore(&name, &World::new(users, faults))
}

#[test]
fn explore_finds_a_process_that_acts_before_it_knows_what_is_frozen() {
    let found = find_bug(&World { starts_unread: true, ..World::new(1, 0) });
    assert!(found.is_ok_and(|found| found.broken.contains("against a freeze")));
}

/// A queue that is notified before the ledger changes may decide by the old ledger, and nothing requeues it.
#[test]
fn explore_finds_a_notification_that_comes_too_early() {
    assert!(find_bug(&World { notifies_first: true, ..World::new(2, 0) }).is_ok());
}
