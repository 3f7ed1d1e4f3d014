//! The steps of the world.

use machinist_testbed::explore::objects::Id;
use machinist_testbed::explore::{Fate, Model, Steps};
use serde_json::json;

use super::super::decide;
use super::super::plan::Plan;
use super::super::samples::{now, object};
use super::cloud::{Cloud, Stage};
use super::machines::{Answer, Decide, Facts, Look, Machines, Queries, Seen};

pub(super) struct World {
    machines: Machines,
    /// Whether the provider says "gone" only when an instance cannot appear any more. A seeded bug changes it.
    pub(super) waits_for_late_instances: bool,
    start: State,
}

/// How often the instance was not found since it was last requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Missed {
    Never,
    JustNow,
    ForLong,
}

/// A patch that the client has given up, and whether it names the version.
type LateWrite = Option<(Id, bool)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// In the API server and in the cache; `None` if it is deleted.
    real: Option<Id>,
    cached: Option<Id>,
    is_uncertain: bool,
    late_write: LateWrite,
    cloud: Cloud,
    late_create: Option<u32>,
    /// What the process remembers: a refused attempt, the answer to its own call, and misses.
    refused: Option<u32>,
    known: Option<(usize, Stage)>,
    missed: Missed,
    /// Whether the instance was terminated by a user.
    was_killed: bool,
    users: u8,
    faults: u8,
}

#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "a counterexample prints it")]
pub(super) enum Action {
    Reconcile(Fate),
    /// The cloud refuses the attempt for good.
    Burns(u32),
    Sees,
    UserDeletes,
    UserTerminates(usize),
    NewLeader,
    LateCreate,
    LateWrite,
    Appears(usize),
    Boots(usize),
    Ends(usize),
    MinutePasses,
}

impl World {
    pub(super) fn new(users: u8, faults: u8) -> Self {
        Self::with(users, faults, |snapshot| decide(snapshot, now()))
    }

    pub(super) fn with(users: u8, faults: u8, decide: Decide) -> Self {
        let machines = Machines::new(decide);
        let new = Some(machines.objects.id(object(&json!({"metadata": {"finalizers": null}}))));
        let start = State {
            real: new,
            cached: new,
            is_uncertain: false,
            late_write: None,
            cloud: Cloud::default(),
            late_create: None,
            refused: None,
            known: None,
            missed: Missed::Never,
            was_killed: false,
            users,
            faults,
        };
        Self { machines, waits_for_late_instances: true, start }
    }

    /// Checks the invariants that hold in every state.
    fn checked(state: State) -> Result<State, String> {
        match (state.cloud.existing(), state.real) {
            (2.., _) => Err("one Machine has two instances".to_owned()),
            (1, None) => Err("an instance has no Machine".to_owned()),
            _ => Ok(state),
        }
    }

    fn look(&self, state: &mut State, machine: Id) -> Look {
        let facts = self.machines.facts(machine);
        let Queries { needs_cloud, must_look } = self.machines.queries(machine, state.refused);
        match state.known {
            _ if !needs_cloud => Look::NotAsked,
            Some((attempt, known)) if must_look || !facts.is_deleting => {
                Look::Present(attempt, known)
            }
            _ if must_look => self.query(state, facts),
            _ => Look::NotAsked,
        }
    }

    fn query(&self, state: &mut State, facts: Facts) -> Look {
        if let Some((attempt, stage)) = state.cloud.find() {
            state.missed = Missed::Never;
            return Look::Present(attempt, stage);
        }
        if facts.attempt.is_none() && !facts.is_recorded { Look::Absent } else { self.miss(state) }
    }

    fn miss(&self, state: &mut State) -> Look {
        if state.missed == Missed::Never {
            state.missed = Missed::JustNow;
        }
        let certain = state.missed == Missed::ForLong || !self.waits_for_late_instances;
        if certain { Look::Absent } else { Look::TooEarly }
    }

    fn reconcile(&self, state: &State, steps: &mut Steps<Self>) {
        let mut to = *state;
        if to.is_uncertain {
            (to.cached, to.is_uncertain) = (to.real, false);
        }
        let Some(machine) = to.cached else {
            return steps.ordinary(Action::Reconcile(Fate::Fine), Ok(to));
        };
        let look = self.look(&mut to, machine);
        let seen = Seen { machine, look, refused: to.refused };
        let plan = self.machines.plan(seen);
        let finalizers = |list| self.machines.objects.id(json!({"metadata": {"finalizers": list}}));
        match &*plan {
            Plan::NoOp(_)
            | Plan::AwaitCloud
            | Plan::Wait(_)
            | Plan::Refuse(_)
            | Plan::Fail(_)
            | Plan::UpdateStatus(_)
            | Plan::NothingToRemove => self.finish(to, seen, &plan, Answer::Done, steps),
            Plan::Drain(_) => self.finish(to, seen, &plan, Answer::Drained, steps),
            Plan::Prepare { attempt } => {
                self.finish(to, seen, &plan, Answer::Prepared(*attempt), steps);
            }
            Plan::AddFinalizer => {
                let list = json!(["machine.machine.openshift.io"]);
                self.write(to, finalizers(list), true, steps);
            }
            Plan::Release => self.write(to, finalizers(json!(null)), true, steps),
            Plan::Record(patch) => {
                self.write(to, self.machines.objects.id(patch.clone()), false, steps);
            }
            Plan::Create { attempt } => self.create(to, seen, &plan, *attempt, steps),
            Plan::Terminate => self.terminate(to, seen, &plan, steps),
            other => {
                let broken = Err(format!("unexpected plan: {other}"));
                steps.ordinary(Action::Reconcile(Fate::Fine), broken);
            }
        }
    }

    /// Ends a reconcile with its status, whose write may fail.
    fn finish(&self, to: State, seen: Seen, plan: &Plan, answer: Answer, steps: &mut Steps<Self>) {
        match self.machines.report(seen, plan, answer) {
            Some(patch) => self.write(to, patch, true, steps),
            None => steps.ordinary(Action::Reconcile(Fate::Fine), Self::checked(to)),
        }
    }

    /// The status after a call, whose answer is the fault that is tried.
    fn after_call(&self, mut to: State, seen: Seen, plan: &Plan, answer: Answer) -> State {
        if let Some(patch) = self.machines.report(seen, plan, answer) {
            self.execute(&mut to, patch, true);
        }
        to
    }

    fn write(&self, to: State, patch: Id, names_version: bool, steps: &mut Steps<Self>) {
        let mut fine = to;
        self.execute(&mut fine, patch, names_version);
        steps.ordinary(Action::Reconcile(Fate::Fine), Self::checked(fine));
        steps.disturbance(Action::Reconcile(Fate::Refused), Self::checked(to));
        let Some(faults) = to.faults.checked_sub(1) else { return };
        let lost = State { cached: to.cached, is_uncertain: true, faults, ..fine };
        steps.disturbance(Action::Reconcile(Fate::AnswerLost), Self::checked(lost));
        if !names_version || to.cached == to.real {
            let late_write = Some((patch, names_version));
            let late = State { late_write, is_uncertain: true, faults, ..to };
            steps.disturbance(Action::Reconcile(Fate::Late), Self::checked(late));
        }
    }

    /// Executes a patch and returns its answer to the cache.
    fn execute(&self, to: &mut State, patch: Id, names_version: bool) {
        let Some(real) = to.real else {
            to.is_uncertain = true;
            return;
        };
        if names_version && to.cached != to.real {
            to.is_uncertain = true;
            return;
        }
        self.store(to, self.machines.objects.merge(real, patch));
        to.cached = to.real;
    }

    /// A new version: a late patch that names the old one will meet a conflict.
    fn store(&self, to: &mut State, object: Id) {
        let facts = self.machines.facts(object);
        let is_gone = facts.is_deleting && !facts.has_finalizer;
        to.late_write = to.late_write.filter(|(_, names_version)| !names_version && !is_gone);
        to.real = (!is_gone).then_some(object);
    }

    fn create(
        &self,
        mut to: State,
        seen: Seen,
        plan: &Plan,
        attempt: u32,
        steps: &mut Steps<Self>,
    ) {
        let stored = to.real.map(|real| self.machines.facts(real));
        if !stored.is_some_and(|real| real.attempt == Some(attempt) && real.has_finalizer) {
            let broken = Err("an instance is created that no Machine knows".to_owned());
            return steps.ordinary(Action::Reconcile(Fate::Fine), broken);
        }
        let slot = usize::try_from(attempt).unwrap();
        (to.missed, to.known) = (Missed::Never, None);
        let mut fine = to;
        let stage = fine.cloud.create(slot);
        let lost = fine;
        fine.known = Some((slot, stage));
        let fine = self.after_call(fine, seen, plan, Answer::Created(slot, stage));
        steps.ordinary(Action::Reconcile(Fate::Fine), Self::checked(fine));
        let refused = self.after_call(to, seen, plan, Answer::NoCapacity);
        steps.disturbance(Action::Reconcile(Fate::Refused), Self::checked(refused));
        let Some(faults) = to.faults.checked_sub(1) else { return };
        let lost = self.after_call(State { faults, ..lost }, seen, plan, Answer::Unclear);
        steps.disturbance(Action::Reconcile(Fate::AnswerLost), Self::checked(lost));
        let late = State { late_create: Some(attempt), faults, ..to };
        let late = self.after_call(late, seen, plan, Answer::Unclear);
        steps.disturbance(Action::Reconcile(Fate::Late), Self::checked(late));
        // A repeated request returns the instance of the first one.
        if to.cloud.0[slot].is_none() {
            let burned = State { refused: Some(attempt), faults, ..to };
            let burned = self.after_call(burned, seen, plan, Answer::Burned);
            steps.disturbance(Action::Burns(attempt), Self::checked(burned));
        }
    }

    fn terminate(&self, mut to: State, seen: Seen, plan: &Plan, steps: &mut Steps<Self>) {
        if !to.real.is_some_and(|real| self.machines.facts(real).is_deleting) {
            let broken = Err("the instance of a Machine is deleted that stays".to_owned());
            return steps.ordinary(Action::Reconcile(Fate::Fine), broken);
        }
        steps.disturbance(Action::Reconcile(Fate::Refused), {
            Self::checked(self.after_call(to, seen, plan, Answer::NotDeleted))
        });
        to.known = None;
        let mut fine = to;
        let attempt = self.machines.facts(seen.machine).attempt.map(usize::try_from);
        let shown = attempt.is_none_or(|attempt| fine.cloud.shows(attempt.unwrap()));
        let is_left = fine.cloud.delete();
        let is_gone = !is_left && (shown || self.miss(&mut fine) == Look::Absent);
        let answer = if is_gone { Answer::Gone } else { Answer::UnderWay };
        self.finish(fine, seen, plan, answer, steps);
        if let Some(faults) = to.faults.checked_sub(1) {
            let lost = State { faults, ..fine };
            let lost = self.after_call(lost, seen, plan, Answer::NotDeleted);
            steps.disturbance(Action::Reconcile(Fate::AnswerLost), Self::checked(lost));
        }
    }

    fn pass_minute(&self, state: &State) -> State {
        let mut to = *state;
        (to.late_create, to.late_write, to.known) = (None, None, None);
        to.cloud.show_all();
        if to.missed == Missed::JustNow {
            to.missed = Missed::ForLong;
        }
        to.real = to.real.map(|real| self.machines.age(real));
        to.cached = to.cached.map(|cached| self.machines.age(cached));
        to
    }

    fn environment(&self, state: &State, steps: &mut Steps<Self>) {
        if state.cached != state.real {
            steps.ordinary(Action::Sees, Ok(State { cached: state.real, ..*state }));
        }
        for (slot, instance) in state.cloud.0.iter().enumerate() {
            let Some(instance) = *instance else { continue };
            let mut step = |action, stage, is_visible| {
                let mut to = *state;
                to.cloud.0[slot] = Some(super::cloud::Instance { stage, is_visible });
                steps.ordinary(action, Self::checked(to));
            };
            match instance.stage {
                Stage::Pending => step(Action::Boots(slot), Stage::Running, instance.is_visible),
                Stage::Terminating => step(Action::Ends(slot), Stage::Terminated, true),
                Stage::Running | Stage::Terminated => {}
            }
            if !instance.is_visible {
                step(Action::Appears(slot), instance.stage, true);
            }
        }
        steps.ordinary(Action::MinutePasses, Self::checked(self.pass_minute(state)));
    }

    fn disturbances(&self, state: &State, steps: &mut Steps<Self>) {
        if let Some(attempt) = state.late_create {
            let mut to = State { late_create: None, ..*state };
            to.cloud.create(usize::try_from(attempt).unwrap());
            steps.disturbance(Action::LateCreate, Self::checked(to));
        }
        if let (Some((patch, _)), Some(real)) = (state.late_write, state.real) {
            let mut to = State { late_write: None, ..*state };
            self.store(&mut to, self.machines.objects.merge(real, patch));
            steps.disturbance(Action::LateWrite, Self::checked(to));
        }
        if let Some(faults) = state.faults.checked_sub(1) {
            let to = State {
                cached: state.real,
                is_uncertain: false,
                refused: None,
                known: None,
                missed: Missed::Never,
                faults,
                ..*state
            };
            steps.disturbance(Action::NewLeader, Self::checked(to));
        }
        let Some(users) = state.users.checked_sub(1) else { return };
        if let Some(real) = state.real.filter(|real| !self.machines.facts(*real).is_deleting) {
            let time = json!({"metadata": {"deletionTimestamp": "2026-06-01T12:00:30Z"}});
            let mut to = State { users, ..*state };
            self.store(&mut to, self.machines.objects.merge(real, self.machines.objects.id(time)));
            steps.disturbance(Action::UserDeletes, Self::checked(to));
        }
        for (slot, instance) in state.cloud.0.iter().enumerate() {
            if instance.is_some_and(|instance| instance.stage == Stage::Running) {
                let mut to = State { users, was_killed: true, ..*state };
                let ended = super::cloud::Instance { stage: Stage::Terminated, is_visible: true };
                to.cloud.0[slot] = Some(ended);
                steps.disturbance(Action::UserTerminates(slot), Self::checked(to));
            }
        }
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        self.start
    }

    fn next(&self, state: &State, steps: &mut Steps<Self>) {
        self.reconcile(state, steps);
        self.environment(state, steps);
        self.disturbances(state, steps);
    }

    fn is_desired(&self, state: &State) -> bool {
        if state.late_create.is_some() || state.cached != state.real || state.is_uncertain {
            return false;
        }
        let Some(real) = state.real else { return true };
        let facts = self.machines.facts(real);
        let runs = matches!(state.cloud.find(), Some((_, Stage::Running)));
        let is_done = facts.is_provisioned && facts.is_recorded && runs;
        !facts.is_deleting && (is_done || facts.has_failed && state.was_killed)
    }
}
