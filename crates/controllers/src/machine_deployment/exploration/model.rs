//! The steps of the deployment's controller, of watches, users and faults.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use machinist_testbed::explore::{Fate, Model, Steps};

use super::super::decide::decide;
use super::super::plan::Plan;
use super::super::samples::now;
use super::super::snapshot::Snapshot;
use super::observed::{Decision, Guard, Observed, SetSize};
use super::sets::{manage, subsets};
use super::state::{Late, Life, SETS, Set, Slot, State};

pub(super) type Decide = fn(&Snapshot) -> Plan;

/// What happens at most.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    pub(super) edits: u8,
    pub(super) faults: u8,
    pub(super) deaths: u8,
    /// Whether a write that scales a set may be executed late.
    pub(super) late_sizes: bool,
    pub(super) guard: Guard,
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edits, faults, deaths, late_sizes, guard } = self;
        write!(f, "{edits} edits, {faults} faults, {deaths} deaths")?;
        f.write_str(if *late_sizes { ", late sizes" } else { "" })?;
        f.write_str(match guard {
            Guard::None => "",
            Guard::Canary => ", a canary",
            Guard::Abort => ", an abort",
        })
    }
}

pub(super) struct World {
    limits: Limits,
    /// What a seeded bug replaces.
    pub(super) decide: Decide,
    pub(super) remembers_doubts: bool,
    pub(super) new_leader_doubts: bool,
    memory: RefCell<HashMap<Observed, Decision>>,
}

#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "a counterexample prints it")]
pub(super) enum Action {
    Edit(u8),
    SeesDeployment,
    SeesSet(usize),
    SeesMachine(usize),
    Reconcile,
    CreateSet(usize, Fate),
    SetRevision(usize),
    Pass(usize),
    Abort(usize),
    Scale(usize, u8, Fate),
    Mark(usize, Fate),
    Unmark(usize),
    List,
    Conflict(usize),
    NewLeader,
    LateWrite(usize),
    LateMark(usize),
    MinutePasses,
    Reserve(usize),
    Close(usize),
    Create(usize),
    Choose(usize),
    Forgets(usize),
    Delete(usize),
    Finishes(usize),
    BecomesReady(usize),
    Dies(usize),
}

impl World {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            decide: |snapshot| decide(snapshot, now()),
            remembers_doubts: true,
            new_leader_doubts: true,
            memory: RefCell::default(),
        }
    }

    fn decide(&self, state: &State) -> Result<Decision, String> {
        self.decide_with(state, false)
    }

    /// `is_late`: whether the time is over in which new Machines become ready.
    fn decide_with(&self, state: &State, is_late: bool) -> Result<Decision, String> {
        let mut observed = Observed::of(state);
        observed.doubtful &= self.remembers_doubts;
        (observed.guard, observed.is_late) = (self.limits.guard, is_late);
        if let Some(known) = self.memory.borrow().get(&observed) {
            return Ok(*known);
        }
        let decision = observed.decide(self.decide)?;
        self.memory.borrow_mut().insert(observed, decision);
        Ok(decision)
    }

    /// It may be aborted whenever a new Machine is not ready.
    fn abort(&self, state: &State, steps: &mut Steps<Self>) {
        if self.limits.guard != Guard::Abort {
            return;
        }
        match self.decide_with(state, true) {
            Ok(Decision::Abort(at)) if !state.sets[at].is_stale => {
                let mut to = *state;
                to.sets[at].aborted = true;
                to.sets[at].forget_late();
                steps.disturbance(Action::Abort(at), Ok(to));
            }
            Ok(_) => {}
            Err(broken) => steps.disturbance(Action::Reconcile, Err(broken)),
        }
    }

    fn reconcile(&self, state: &State, steps: &mut Steps<Self>) {
        self.abort(state, steps);
        let decision = match self.decide(state) {
            Ok(decision) => decision,
            Err(broken) => return steps.ordinary(Action::Reconcile, Err(broken)),
        };
        let mut to = *state;
        match decision {
            Decision::Done | Decision::Wait => {}
            Decision::Create(at, revision) => create(state, at, revision, steps),
            Decision::SetRevision(at, revision) => {
                if is_current(state, at, steps) {
                    to.sets[at].revision = revision;
                    to.sets[at].forget_late();
                    steps.ordinary(Action::SetRevision(at), Ok(to));
                }
            }
            Decision::Pass(at) => {
                if is_current(state, at, steps) {
                    to.sets[at].passed = true;
                    to.sets[at].forget_late();
                    steps.ordinary(Action::Pass(at), Ok(to));
                }
            }
            // Not before the time is over.
            Decision::Abort(at) => {
                let broken = format!("the rollout of set {at} is aborted too early");
                steps.ordinary(Action::Abort(at), Err(broken));
            }
            Decision::Annotate(revision) => {
                // A conflict leads to a live read.
                if state.template == state.template_seen {
                    to.revision = revision;
                }
                to.template_seen = to.template;
                steps.ordinary(Action::Reconcile, Ok(to));
            }
            Decision::Mark(at, count) => {
                let is_candidate = |slot: &Slot| slot.seen == Life::Starting && !slot.marked_seen;
                let with = |chosen, change: fn(&mut Slot)| {
                    let mut to = *state;
                    let slots = to.sets[at].slots.iter_mut().zip(chosen);
                    slots.filter(|(_, chosen)| *chosen).for_each(|(slot, _)| change(slot));
                    to
                };
                // Some patches may be refused.
                for some in 1..=count {
                    for chosen in subsets(&state.sets[at].slots, some.into(), is_candidate) {
                        let to = with(chosen, |slot| mark(slot, true));
                        if some == count {
                            steps.ordinary(Action::Mark(at, Fate::Fine), Ok(to));
                        } else {
                            steps.disturbance(Action::Mark(at, Fate::Refused), Ok(to));
                        }
                        if let Some(faults) = state.faults.checked_sub(1) {
                            let late = with(chosen, |slot| slot.late_mark = slot.is_member());
                            let late = State { faults, ..late };
                            steps.disturbance(Action::Mark(at, Fate::Late), Ok(late));
                        }
                    }
                }
            }
            Decision::Unmark(at) => {
                let slots = to.sets[at].slots.iter_mut();
                slots
                    .filter(|slot| slot.seen == Life::Available && slot.marked_seen)
                    .for_each(|slot| mark(slot, false));
                steps.ordinary(Action::Unmark(at), Ok(to));
            }
            Decision::Scale(sizes) => self.scale(*state, sizes, steps),
            Decision::List => {
                to.see_machines();
                let is_open = |set: &Set| set.slots.iter().any(|slot| slot.window_seen);
                to.doubtful &= to.sets.iter().any(is_open);
                to.listed = true;
                steps.ordinary(Action::List, Ok(to));
            }
        }
    }
}

impl World {
    /// One patch after the other; after a failure no more is sent. An object whose answer was lost is read live.
    fn scale(&self, mut to: State, sizes: [Option<SetSize>; SETS], steps: &mut Steps<Self>) {
        let sizes = sizes.into_iter().enumerate();
        let mut sizes = sizes.filter_map(|(at, size)| Some((at, size?))).peekable();
        while let Some((at, size)) = sizes.next() {
            to.doubtful |= size.doubt;
            if let Some(broken) = self.unguarded(&to, at, size.to) {
                return steps.ordinary(Action::Scale(at, size.to, Fate::Fine), Err(broken));
            }
            if to.sets[at].is_stale {
                to.see_set(at);
                return steps.ordinary(Action::Conflict(at), Ok(to));
            }
            steps.disturbance(Action::Scale(at, size.to, Fate::Refused), Ok(to));
            let faults = to.faults.checked_sub(1);
            if let Some(faults) = faults.filter(|_| self.limits.late_sizes) {
                let mut late = State { faults, ..to };
                late.sets[at].late = Some(Late::Scale(size.to));
                late.sets[at].unanswered = Some(size.to);
                steps.disturbance(Action::Scale(at, size.to, Fate::Late), Ok(late));
            }
            store_size(&mut to, at, size.to);
            to.see_set(at);
            if sizes.peek().is_none() {
                steps.ordinary(Action::Scale(at, size.to, Fate::Fine), Ok(to));
            } else {
                steps.disturbance(Action::Scale(at, size.to, Fate::AnswerLost), Ok(to));
            }
        }
    }
}

impl World {
    /// What a guard forbids.
    fn unguarded(&self, state: &State, at: usize, size: u8) -> Option<String> {
        let set = &state.sets[at];
        let grows = size > set.desired_seen;
        let is_old = |other: &usize| *other != at && state.sets[*other].desired_seen > 0;
        let rolls = (0..SETS).any(|other| is_old(&other));
        match self.limits.guard {
            Guard::Abort if grows && set.aborted => {
                Some(format!("set {at} grows although its rollout is aborted"))
            }
            Guard::Canary if grows && size > 1 && rolls && !set.passed => {
                let is_new = usize::from(state.template_seen) == at;
                is_new.then(|| format!("set {at} grows before its canary has passed"))
            }
            _ => None,
        }
    }
}

/// Whether the cache has the set's version; otherwise the write meets a conflict, and the set is read live.
fn is_current(state: &State, at: usize, steps: &mut Steps<World>) -> bool {
    if state.sets[at].is_stale {
        let mut to = *state;
        to.see_set(at);
        steps.ordinary(Action::Conflict(at), Ok(to));
    }
    !state.sets[at].is_stale
}

/// The patch of one Machine. Readiness is not part of its version.
fn mark(slot: &mut Slot, marked: bool) {
    if slot.is_member() {
        (slot.marked, slot.marked_seen, slot.late_mark) = (marked, marked, false);
    } else {
        slot.read();
    }
}

fn create(state: &State, at: usize, revision: u8, steps: &mut Steps<World>) {
    let mut fine = *state;
    store_new(&mut fine.sets[at], revision);
    // The answer, or the live read after AlreadyExists.
    fine.see_set(at);
    steps.ordinary(Action::CreateSet(at, Fate::Fine), Ok(fine));
    if let Some(faults) = state.faults.checked_sub(1).filter(|_| !state.sets[at].exists) {
        let mut late = State { faults, ..*state };
        late.sets[at].late = Some(Late::Create(revision));
        steps.disturbance(Action::CreateSet(at, Fate::Late), Ok(late));
    }
}

fn store_new(set: &mut Set, revision: u8) {
    if !set.exists {
        (set.exists, set.revision) = (true, revision);
        set.change();
    }
}

fn store_size(state: &mut State, at: usize, size: u8) {
    state.sets[at].desired = size;
    state.sets[at].change();
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let Limits { edits, faults, deaths, .. } = self.limits;
        let mut sets = [Set::default(); SETS];
        sets[0] = Set::settled(2, 1);
        let (doubtful, listed) = (false, false);
        State {
            template: 0,
            template_seen: 0,
            revision: 1,
            sets,
            doubtful,
            listed,
            died: 0,
            edits,
            faults,
            deaths,
        }
    }

    fn next(&self, state: &State, steps: &mut Steps<Self>) {
        self.reconcile(state, steps);
        (0..SETS).for_each(|at| manage(state, at, steps));
        Self::watches(state, steps);
        disturb(state, steps);
        if let Some(faults) = state.faults.checked_sub(1) {
            let mut to = State { faults, ..*state };
            to.restart();
            to.doubtful &= self.new_leader_doubts;
            steps.disturbance(Action::NewLeader, Ok(to));
        }
    }

    fn is_desired(&self, state: &State) -> bool {
        let decision = self.decide(state);
        let done = state.is_complete() && matches!(decision, Ok(Decision::Done));
        done || (state.is_aborted() && matches!(decision, Ok(Decision::Wait)))
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
            if to != *state {
                steps.ordinary(action, Ok(to));
            }
        };
        step(Action::SeesDeployment, &|to| to.template_seen = to.template);
        for at in 0..SETS {
            step(Action::SeesSet(at), &|to| to.see_set(at));
            for which in 0..state.sets[at].slots.len() {
                step(Action::SeesMachine(at), &|to| to.sets[at].slots[which].read());
            }
        }
        step(Action::MinutePasses, &|to| {
            for set in &mut to.sets {
                // A watch lags behind by less than a minute.
                set.unanswered = set.unanswered.filter(|_| set.is_stale);
                set.late = None;
                set.slots.iter_mut().for_each(|slot| slot.late_mark = false);
            }
        });
    }
}

/// What users do, and what goes wrong.
fn disturb(state: &State, steps: &mut Steps<World>) {
    if let Some(edits) = state.edits.checked_sub(1) {
        // Templates that no set has are equal.
        let unused = state.sets.iter().position(|set| !set.exists && set.late.is_none());
        for (at, set) in state.sets.iter().enumerate() {
            let template = u8::try_from(at).unwrap();
            let known = set.exists || set.late.is_some() || unused == Some(at);
            if template != state.template && known {
                let to = State { template, edits, ..*state };
                steps.disturbance(Action::Edit(template), Ok(to));
            }
        }
    }
    for (at, set) in state.sets.iter().enumerate() {
        if let Some(late) = set.late {
            let mut to = *state;
            match late {
                Late::Create(revision) => store_new(&mut to.sets[at], revision),
                Late::Scale(size) => store_size(&mut to, at, size),
            }
            to.sets[at].late = None;
            steps.disturbance(Action::LateWrite(at), Ok(to));
        }
        for (which, _) in set.slots.iter().enumerate().filter(|(_, slot)| slot.late_mark) {
            let mut to = *state;
            let slot = &mut to.sets[at].slots[which];
            (slot.marked, slot.late_mark) = (true, false);
            steps.disturbance(Action::LateMark(at), Ok(to));
        }
        if let Some(deaths) = state.deaths.checked_sub(1) {
            for (which, _) in
                set.slots.iter().enumerate().filter(|(_, slot)| slot.real == Life::Available)
            {
                let mut to = State { deaths, died: state.died + 1, ..*state };
                to.sets[at].slots[which].real = Life::Starting;
                steps.disturbance(Action::Dies(at), Ok(to));
            }
        }
    }
}
