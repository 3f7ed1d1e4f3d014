//! The steps of the world.

use std::cell::RefCell;
use std::collections::HashMap;

use machinist_domain::key::Uid;
use machinist_testbed::explore::{Fate, Model, Steps};
use serde_json::json;

use super::super::decide::decide;
use super::super::ordinals;
use super::super::plan::{Executed, Outcome, Plan, Reason};
use super::super::report::report;
use super::super::samples::{machine, member, now, set, snapshot, view};
use super::super::snapshot::{InFlight, Snapshot};
use super::state::{MAYBE, SLOTS, Set, Slot, State};
use crate::test_process::unanswered;

pub(super) type Decide = fn(&Snapshot) -> Plan;

pub(super) struct World {
    start: State,
    /// What a seeded bug replaces.
    pub(super) decide: Decide,
    pub(super) reads_set_before_deleting: bool,
    most: u8,
    newest_first: bool,
    /// Whether a move of the window may be executed late.
    late_windows: bool,
    memory: RefCell<HashMap<Observed, Decision>>,
}

/// What `decide` depends on. Sets of ordinals are bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Observed {
    set: Set,
    members: u16,
    leaving: u16,
    seen: u16,
    listed: bool,
    in_flight: InFlight,
    orphans: u8,
}

/// The plan, as far as it matters.
#[derive(Debug, Clone, Copy)]
enum Decision {
    Nothing,
    MoveWindow(u8, u8),
    Create(u16),
    List,
    Delete(usize),
}

#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "a counterexample prints it")]
pub(super) enum Action {
    Scale(u8),
    UserDeletes(usize),
    UserTakesName(usize),
    Finishes(usize),
    SeesSet,
    Sees(usize),
    NewLeader,
    Reconcile,
    MoveWindow(Fate),
    Write(usize, Fate),
    LateWindow,
    LateCreate(usize),
    LateDelete(usize),
    MinutePasses,
}

impl World {
    /// A set that wants up to `most` Machines, with so many actions of users and so many faults.
    pub(super) fn new(most: u8, users: u8, faults: u8, newest_first: bool) -> Self {
        Self {
            start: State::new(most, users, faults),
            decide: |snapshot| decide(snapshot, now()),
            reads_set_before_deleting: true,
            most,
            newest_first,
            late_windows: faults < 2,
            memory: RefCell::default(),
        }
    }

    /// A set that was recreated, and some of whose Machines cannot be adopted.
    pub(super) fn with_orphans(mut self, orphans: u8) -> Self {
        self.start.orphans = orphans;
        self
    }

    fn decide(&self, state: &State) -> Result<Decision, String> {
        let bits = |has: fn(Slot) -> bool| {
            let slots = state.slots.iter().enumerate();
            slots.fold(0, |bits, (at, slot)| bits | u16::from(has(*slot)) << at)
        };
        let observed = Observed {
            set: state.set,
            members: bits(Slot::is_member),
            leaving: bits(Slot::is_seen_leaving),
            seen: bits(Slot::is_seen),
            listed: state.listed,
            in_flight: if state.set.is_closed() { InFlight::No } else { state.in_flight },
            orphans: state.orphans,
        };
        if let Some(known) = self.memory.borrow().get(&observed) {
            return Ok(*known);
        }
        let decision = observed.decide(self.decide)?;
        self.memory.borrow_mut().insert(observed, decision);
        Ok(decision)
    }

    fn reconcile(&self, state: &State, steps: &mut Steps<Self>) {
        let mut to = *state;
        if to.set_uncertain {
            to.read_set();
        }
        let window = usize::from(to.set.from)..usize::from(to.set.next);
        for (at, slot) in to.slots.iter_mut().enumerate() {
            if slot.uncertain && (slot.is_seen() || window.contains(&at)) {
                slot.read();
            }
        }
        let decision = match self.decide(&to) {
            Ok(decision) => decision,
            Err(broken) => return steps.ordinary(Action::Reconcile, Err(broken)),
        };
        match decision {
            Decision::Nothing => steps.ordinary(Action::Reconcile, Ok(to)),
            Decision::MoveWindow(from, next) => self.move_window(to, from, next, steps),
            Decision::Create(ordinals) => {
                to.deletes = false;
                plan(&mut to, ordinals);
                steps.ordinary(Action::Reconcile, Ok(to));
            }
            Decision::List => {
                to.slots.iter_mut().for_each(Slot::read);
                to.listed = true;
                if to.in_flight == InFlight::Unlisted {
                    to.in_flight = InFlight::No;
                }
                steps.ordinary(Action::Reconcile, Ok(to));
            }
            Decision::Delete(count) => self.delete(to, count, steps),
        }
    }

    fn move_window(&self, to: State, from: u8, next: u8, steps: &mut Steps<Self>) {
        if usize::from(next) > SLOTS {
            return steps
                .ordinary(Action::Reconcile, Err("the model has too few slots".to_owned()));
        }
        let moved = Set { from, next, ..to.set };
        if !to.is_current() {
            let conflict = State { set_uncertain: true, ..to };
            return steps.ordinary(Action::MoveWindow(Fate::Fine), Ok(conflict));
        }
        let mut fine = to;
        fine.store(moved);
        let lost = State { set_uncertain: true, ..fine };
        fine.read_set();
        fine.in_flight = if moved.is_closed() { InFlight::No } else { to.in_flight };
        steps.ordinary(Action::MoveWindow(Fate::Fine), Ok(fine));
        steps.disturbance(Action::MoveWindow(Fate::Refused), Ok(to));
        if let Some(faults) = to.faults.checked_sub(1) {
            steps.disturbance(Action::MoveWindow(Fate::AnswerLost), Ok(State { faults, ..lost }));
            if self.late_windows {
                let late = State { faults, late_window: Some(moved), set_uncertain: true, ..to };
                steps.disturbance(Action::MoveWindow(Fate::Late), Ok(late));
            }
        }
    }

    /// Which Machines are deleted first depends on more than the model has, but not on when it is decided.
    fn delete(&self, mut to: State, count: usize, steps: &mut Steps<Self>) {
        if self.reads_set_before_deleting {
            let seen = to.set.replicas;
            let changed = to.unseen.iter().flatten().any(|set| set.replicas != seen);
            to.read_set();
            if changed {
                return steps.ordinary(Action::Reconcile, Ok(to));
            }
        }
        (to.deletes, to.listed) = (true, false);
        let members = (0..SLOTS).filter(|at| to.slots[*at].is_member());
        let members: Vec<usize> =
            if self.newest_first { members.rev().collect() } else { members.collect() };
        let chosen = members.into_iter().take(count).fold(0, |bits, at| bits | 1 << at);
        plan(&mut to, chosen);
        steps.ordinary(Action::Reconcile, Ok(to));
    }
}

fn plan(state: &mut State, slots: u16) {
    for (at, slot) in state.slots.iter_mut().enumerate() {
        slot.pending = slots >> at & 1 == 1;
    }
}

/// Sends the next write of the plan.
fn write(state: &State, at: usize, steps: &mut Steps<World>) {
    for fate in Fate::ALL {
        let Some(faults) = state.faults.checked_sub(fate.cost()) else { continue };
        let mut to = State { faults, ..*state };
        to.slots[at].pending = false;
        let done = match fate {
            Fate::Fine | Fate::AnswerLost if to.deletes => delete(&mut to, at),
            Fate::Fine | Fate::AnswerLost => create(&mut to, at),
            Fate::Late if to.deletes => {
                to.slots[at].late_delete = to.slots[at].is_same();
                Ok(())
            }
            Fate::Late => {
                to.slots[at].late_create = true;
                Ok(())
            }
            Fate::Refused => Ok(()),
        };
        let slot = &mut to.slots[at];
        match fate {
            // The answer, or what a live read returns after AlreadyExists.
            Fate::Fine if slot.is_same() || !to.deletes => slot.read(),
            Fate::Fine => slot.bury(),
            Fate::AnswerLost | Fate::Late => {
                slot.uncertain = true;
                if !to.deletes {
                    to.in_flight = MAYBE;
                }
            }
            Fate::Refused => {}
        }
        let action = Action::Write(at, fate);
        if fate == Fate::Fine {
            steps.ordinary(action, done.map(|()| to));
        } else {
            // After a failure no more is sent.
            to.slots.iter_mut().for_each(|slot| slot.pending = false);
            steps.disturbance(action, done.map(|()| to));
        }
    }
}

/// The API server executes a create.
fn create(state: &mut State, at: usize) -> Result<(), String> {
    if !state.slots[at].exists() {
        state.slots[at].advance();
    }
    let (alive, most) = (state.alive() + usize::from(state.orphans), state.most);
    if alive > usize::from(most) {
        return Err(format!("{alive} Machines, but never more than {most} were wanted"));
    }
    Ok(())
}

/// The API server executes a deletion, with the uid as precondition.
fn delete(state: &mut State, at: usize) -> Result<(), String> {
    let slot = &mut state.slots[at];
    if !slot.is_live() || !slot.is_same() {
        return Ok(());
    }
    slot.advance();
    let left = state.grants.checked_sub(1);
    state.grants = left.ok_or("a Machine is deleted that was not wanted to go")?;
    Ok(())
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        self.start
    }

    fn next(&self, state: &State, steps: &mut Steps<Self>) {
        match state.slots.iter().position(|slot| slot.pending) {
            Some(at) => write(state, at, steps),
            None => self.reconcile(state, steps),
        }
        Self::watches(state, steps);
        self.users(state, steps);
        Self::faults(state, steps);
    }

    fn is_desired(&self, state: &State) -> bool {
        let is_known = |slot: &Slot| slot.real == slot.seen && !slot.is_leaving();
        let (members, replicas) = (state.alive(), usize::from(state.set.replicas));
        // Orphans count for creating and not for deleting.
        let is_size = members <= replicas && members + usize::from(state.orphans) >= replicas;
        state.is_current()
            && state.set.is_closed()
            && !state.has_late()
            && state.in_flight == InFlight::No
            && is_size
            && state.slots.iter().all(is_known)
    }

    fn canonical(&self, state: State) -> State {
        state.canonical()
    }
}

impl World {
    fn watches(state: &State, steps: &mut Steps<Self>) {
        let mut step = |action, change: &dyn Fn(&mut State)| {
            let mut to = *state;
            change(&mut to);
            steps.ordinary(action, Ok(to));
        };
        if !state.is_current() {
            step(Action::SeesSet, &State::watch_set);
        }
        for (at, slot) in state.slots.iter().enumerate() {
            if slot.real != slot.seen {
                step(Action::Sees(at), &|to| {
                    to.slots[at].watch();
                    // A plan to delete what is known to be gone does nothing.
                    to.slots[at].pending &= !to.deletes || to.slots[at].is_seen();
                });
            }
            if slot.is_leaving() {
                step(Action::Finishes(at), &|to| {
                    to.slots[at].advance();
                    to.slots[at].late_delete = false;
                });
            }
        }
        if state.has_late() || state.in_flight == MAYBE {
            step(Action::MinutePasses, &State::expire);
        }
    }

    fn users(&self, state: &State, steps: &mut Steps<Self>) {
        let Some(users) = state.users.checked_sub(1) else { return };
        let real = state.real();
        for replicas in (0..=self.most).filter(|to| *to != real.replicas && state.has_room()) {
            let mut to = State { users, most: state.most.max(replicas), ..*state };
            to.store(Set { replicas, ..real });
            let (fewer, more) =
                (real.replicas.saturating_sub(replicas), replicas.saturating_sub(real.replicas));
            let begun = |slot: &Slot| state.deletes && slot.pending || slot.late_delete;
            let taken_back = if state.slots.iter().any(begun) { 0 } else { more };
            to.grants = (to.grants + fewer).saturating_sub(taken_back);
            steps.disturbance(Action::Scale(replicas), Ok(to));
        }
        for (at, _) in state.slots.iter().enumerate().filter(|(_, slot)| slot.is_live()) {
            let mut to = State { users, ..*state };
            to.slots[at].advance();
            steps.disturbance(Action::UserDeletes(at), Ok(to));
        }
    }

    fn faults(state: &State, steps: &mut Steps<Self>) {
        if let Some(moved) = state.late_window {
            let mut to = *state;
            to.store(moved);
            steps.disturbance(Action::LateWindow, Ok(to));
        }
        for (at, slot) in state.slots.iter().enumerate() {
            let mut to = *state;
            (to.slots[at].late_create, to.slots[at].late_delete) = (false, false);
            if slot.late_create {
                let done = create(&mut to, at);
                steps.disturbance(Action::LateCreate(at), done.map(|()| to));
            } else if slot.late_delete {
                let done = delete(&mut to, at);
                steps.disturbance(Action::LateDelete(at), done.map(|()| to));
            }
        }
        let Some(faults) = state.faults.checked_sub(1) else { return };
        let mut to = State { faults, ..*state };
        to.restart();
        steps.disturbance(Action::NewLeader, Ok(to));
        let next = usize::from(state.real().next);
        if next < SLOTS && state.slots[next] == Slot::default() {
            let mut to = State { faults, ..*state };
            to.slots[next].squat();
            steps.disturbance(Action::UserTakesName(next), Ok(to));
        }
    }
}

impl Observed {
    fn decide(self, decide: Decide) -> Result<Decision, String> {
        let observed = self.snapshot();
        let plan = decide(&observed);
        let failed = Executed { failure: Some(unanswered()), ..Executed::default() };
        let failed = report(&observed, &plan, &Outcome::Executed(failed), now());
        let settled = report(&observed, &plan, &Outcome::Nothing, now());
        let decision = match &plan {
            Plan::NoOp(Reason::Settled | Reason::InFlight(_)) => {
                let members = json!(self.members.count_ones());
                let status = settled.status.clone().unwrap_or_default();
                if status["replicas"] != members {
                    return Err(format!("{members} Machines are reported as {status}"));
                }
                Decision::Nothing
            }
            Plan::MoveWindow { to } => {
                let bound = |ordinal| u8::try_from(ordinal).unwrap();
                Decision::MoveWindow(bound(to.ordinals().start), bound(to.ordinals().end))
            }
            Plan::Create(ordinals) => {
                Decision::Create(ordinals.iter().fold(0, |bits, ordinal| bits | 1 << ordinal))
            }
            Plan::List => Decision::List,
            Plan::Delete(machines) => Decision::Delete(machines.len()),
            other => return Err(format!("unexpected plan: {other}")),
        };
        let acts = !matches!(decision, Decision::Nothing);
        let waits = matches!(plan, Plan::NoOp(Reason::InFlight(_)));
        if acts && failed.retry.is_none() || waits && settled.retry.is_none() {
            return Err(format!("there is no next reconcile after: {plan}"));
        }
        Ok(decision)
    }

    fn snapshot(self) -> Snapshot {
        let Set { replicas, from, next } = self.set;
        let mut set = set();
        set["spec"]["replicas"] = json!(replicas);
        let window = format!("{from}..{next}");
        set["metadata"]["annotations"] = json!({"machinist.dev/ordinals": window});
        let has = |bits: u16| (0..u64::from(u16::BITS)).filter(move |at| bits >> at & 1 == 1);
        let members = has(self.members).map(|ordinal| {
            let name = ordinals::name("set", &Uid("set-uid".into()), ordinal);
            member(machine(&name, &json!({})))
        });
        let mut view = view(&set, members.collect());
        let open = |ordinal: &u64| self.seen >> ordinal & 1 == 0;
        view.open_ordinals = (u64::from(from)..u64::from(next)).filter(open).collect();
        let in_window = |ordinal: &u64| (u64::from(from)..u64::from(next)).contains(ordinal);
        view.leaving_ordinals = has(self.leaving).filter(in_window).count();
        view.highest_ordinal = has(self.members).next_back();
        view.listed = self.listed;
        view.in_flight = self.in_flight;
        view.unadopted_orphans = self.orphans.into();
        snapshot(view)
    }
}
