//! A model of a deployment: its controller with stale views of sets and Machines, and one MachineSet controller with a
//! stale view of the sets. Whatever happens in whatever order, the limits hold and the rollout ends.

use fastrand::Rng;

use super::super::{Fleet, Guard, Numbers, Step, Wait};

const TEMPLATES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    WithoutNode,
    NotReady,
    Available,
    Failed,
}

#[derive(Debug, Clone, Copy)]
struct Machine {
    id: usize,
    set: usize,
    ordinal: usize,
    state: State,
    /// By us.
    marked: bool,
    /// Marked by cluster-autoscaler.
    targeted: bool,
    leaving: bool,
}

/// A MachineSet; its index is its template.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Set {
    desired: usize,
    /// The ordinals that are reserved; those without a Machine are open.
    window: (usize, usize),
    version: usize,
    exists: bool,
    /// Its canaries were available for long enough.
    passed: bool,
    aborted: bool,
}

impl Machine {
    fn is_marked(&self) -> bool {
        self.marked || self.targeted
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spec {
    replicas: usize,
    surge: usize,
    unavailable: usize,
    template: usize,
    paused: bool,
    recreate: bool,
    canaries: Option<usize>,
    generation: usize,
}

struct World {
    rng: Rng,
    spec: Spec,
    sets: [Set; TEMPLATES],
    machines: Vec<Machine>,
    ids: usize,
    /// What the deployment's controller sees.
    seen_sets: [Set; TEMPLATES],
    seen_machines: Vec<Machine>,
    doubtful: bool,
    /// The state of the sets in which the Machines were listed.
    listed: Option<(usize, [(usize, usize); TEMPLATES])>,
    /// What the MachineSet controller sees.
    known: [Set; TEMPLATES],
    broken: [bool; TEMPLATES],
    /// Machines that a user deleted and that are not gone: their replacements exist beside them.
    replaced: Vec<usize>,
    scaled: usize,
    aborted: usize,
    /// The guards let the rollout go on.
    settles: bool,
    /// Set and ordinal of Machines that are gone. Their MachineSet reserves other names.
    used: Vec<(usize, usize)>,
}

fn open(
    sets: &[Set; TEMPLATES],
    machines: &[Machine],
    used: &[(usize, usize)],
    set: usize,
) -> Vec<usize> {
    let (from, next) = sets[set].window;
    let free = |ordinal: &usize| {
        let name = (set, *ordinal);
        !used.contains(&name) && machines.iter().all(|one| (one.set, one.ordinal) != name)
    };
    (from..next).filter(free).collect()
}

fn is_closed(set: &Set) -> bool {
    set.window.0 == set.window.1
}

/// `exact`: the Machines are known to be all.
fn numbers(
    sets: &[Set; TEMPLATES],
    machines: &[Machine],
    used: &[(usize, usize)],
    exact: bool,
) -> [Numbers; TEMPLATES] {
    std::array::from_fn(|set| {
        let mut numbers = Numbers {
            desired: sets[set].desired,
            open: open(sets, machines, used, set).len(),
            aborted: sets[set].aborted,
            deleting: !sets[set].exists,
            exact,
            ..Numbers::default()
        };
        for machine in machines.iter().filter(|machine| machine.set == set) {
            if machine.leaving {
                numbers.leaving += 1;
                continue;
            }
            numbers.members += 1;
            match machine.state {
                state if machine.is_marked() => {
                    numbers.first += 1;
                    numbers.marked += 1;
                    let available = state == State::Available;
                    numbers.marked_available += usize::from(available);
                    numbers.recovered += usize::from(available && !machine.targeted);
                }
                State::Available => numbers.available += 1,
                State::Failed => numbers.first += 1,
                State::WithoutNode | State::NotReady => numbers.markable += 1,
            }
        }
        numbers
    })
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let spec = Spec {
            replicas: rng.usize(..6),
            surge: 1,
            unavailable: 0,
            template: 0,
            paused: false,
            recreate: false,
            canaries: None,
            generation: 0,
        };
        Self {
            rng,
            spec,
            sets: [Set::default(); TEMPLATES],
            machines: Vec::new(),
            ids: 0,
            seen_sets: [Set::default(); TEMPLATES],
            seen_machines: Vec::new(),
            doubtful: false,
            listed: None,
            known: [Set::default(); TEMPLATES],
            broken: [false; TEMPLATES],
            replaced: Vec::new(),
            scaled: 0,
            aborted: 0,
            settles: false,
            used: Vec::new(),
        }
    }

    fn listed(&self) -> bool {
        self.listed == Some(self.state())
    }

    fn state(&self) -> (usize, [(usize, usize); TEMPLATES]) {
        (self.spec.generation, self.seen_sets.map(|set| (set.desired, set.version)))
    }

    fn limit(&self) -> usize {
        self.spec.replicas + if self.spec.recreate { 0 } else { self.spec.surge }
    }

    /// The Machines that may exist at once if no set is scaled.
    fn potential(&self) -> usize {
        let sets = (0..TEMPLATES).map(|set| {
            let own = || self.machines.iter().filter(|one| one.set == set);
            let leaving = own().filter(|one| one.leaving).count();
            let open = open(&self.sets, &self.machines, &self.used, set).len();
            self.sets[set].desired.max(own().count() - leaving + open) + leaving
        });
        sets.sum()
    }

    /// The available Machines that are left in the worst case.
    fn sure(sets: &[Numbers; TEMPLATES]) -> usize {
        sets.iter().map(|set| set.sure(set.desired)).sum()
    }

    /// Machines that the view has as available, and that are not for a reason other than this controller.
    fn unseen_losses(&self) -> usize {
        let seen = self.seen_machines.iter();
        let seen =
            seen.filter(|one| one.state == State::Available && !one.leaving && !one.is_marked());
        seen.filter(|one| {
            let now = self.machines.iter().find(|now| now.id == one.id);
            now.is_none_or(|now| {
                now.state != State::Available || now.is_marked() || self.replaced.contains(&now.id)
            })
        })
        .count()
    }

    fn step(&self, sets: &[Numbers; TEMPLATES]) -> Step {
        let Spec { replicas, surge, unavailable, template, paused, recreate, .. } = self.spec;
        let existing = sets.iter().copied();
        let new = self.seen_sets[template].exists.then_some(template);
        let sets: Vec<_> = existing.collect();
        Fleet {
            replicas,
            surge,
            unavailable: if recreate { 0 } else { unavailable },
            paused,
            recreate,
            guard: self.guard(),
            doubtful: self.doubtful && !self.listed(),
            new,
            sets: &sets,
        }
        .step()
    }

    /// What holds the rollout, as the controller sees it.
    fn guard(&self) -> Guard {
        let new = self.seen_sets[self.spec.template];
        let is_old = |set: usize| set != self.spec.template && self.seen_sets[set].desired > 0;
        match self.spec.canaries {
            _ if !new.exists => Guard::None,
            _ if new.aborted => Guard::Aborted,
            Some(count) if !new.passed && !self.spec.recreate && (0..TEMPLATES).any(is_old) => {
                Guard::Canary(count)
            }
            _ => Guard::None,
        }
    }

    /// Stores what the controller found out, with the version of the set that it sees.
    fn store(&mut self, change: impl FnOnce(&mut Set)) {
        let template = self.spec.template;
        let set = &mut self.sets[template];
        if set.version == self.seen_sets[template].version {
            change(set);
            set.version += 1;
        }
        self.seen_sets[template] = *set;
    }

    /// Whether the controller stores something.
    fn finds(&mut self, seen: &[Numbers; TEMPLATES]) -> bool {
        let new = seen[self.spec.template];
        match self.guard() {
            _ if self.spec.paused => false,
            Guard::Canary(count) if new.available >= count.min(self.spec.replicas).max(1) => {
                // Another one may have to be observed for longer.
                let passes = self.settles || self.rng.u32(..3) == 0;
                if passes {
                    self.store(|set| set.passed = true);
                }
                passes
            }
            Guard::Aborted if self.settles => {
                self.store(|set| set.aborted = false);
                true
            }
            Guard::Aborted => false,
            _ if new.markable + new.first > 0 && !self.settles && self.rng.u32(..20) == 0 => {
                self.store(|set| set.aborted = true);
                self.aborted += 1;
                true
            }
            _ => false,
        }
    }

    /// What a guarded rollout must not do. `size` is another one than the set has.
    fn check_guard(&self, set: usize, size: usize, seen: &[Numbers; TEMPLATES]) {
        let (spec, before) = (self.spec, seen[set].desired);
        let is_new = set == spec.template;
        assert!(size < before || !seen[set].aborted, "an aborted set creates no Machines");
        let old = |at: &usize| *at != spec.template;
        let wanted = |set: usize| seen[set].desired;
        let old: usize = (0..TEMPLATES).filter(old).map(wanted).sum();
        let new = wanted(spec.template);
        let excess = (old + new).saturating_sub(self.limit());
        match self.guard() {
            Guard::Canary(count) if is_new && size > before => {
                assert!(size <= count, "{size} new Machines before {count} canaries passed");
            }
            // Old Machines make room for canaries, and fewer replicas are wanted.
            Guard::Canary(count) if !is_new && size < before && excess == 0 => {
                let room = count.max(new).saturating_sub(self.limit() - spec.replicas);
                let left = old + size - before;
                assert!(left + room >= spec.replicas, "{left} old Machines are left");
            }
            Guard::Aborted => {
                assert!(!is_new || size < before, "{size} Machines of an aborted template");
                let lost = seen[set].lost(before.saturating_sub(size));
                let all_new_go = excess >= new;
                assert!(is_new || all_new_go || lost == 0, "old Machines go after an abort");
            }
            _ => {}
        }
    }

    /// One reconcile of the deployment.
    fn reconcile(&mut self) -> Step {
        let template = self.spec.template;
        if !self.seen_sets[template].exists && !self.spec.paused {
            self.sets[template].exists = true;
            self.seen_sets[template] = self.sets[template];
            return Step::Wait(Wait::Gone);
        }
        let seen = numbers(&self.seen_sets, &self.seen_machines, &[], self.listed());
        if self.finds(&seen) {
            return Step::Wait(Wait::Gone);
        }
        let step = self.step(&seen);
        let sure = Self::sure(&seen);
        match &step {
            Step::Mark(set, count) => {
                let machines = self.seen_machines.iter_mut().filter(|one| {
                    one.set == *set
                        && matches!(one.state, State::NotReady | State::WithoutNode)
                        && !one.is_marked()
                        && !one.leaving
                });
                let marked: Vec<_> = machines.take(*count).collect();
                assert_eq!(marked.len(), *count, "as many as there are");
                for one in marked {
                    one.marked = true;
                    let id = one.id;
                    self.machines
                        .iter_mut()
                        .filter(|one| one.id == id)
                        .for_each(|one| one.marked = true);
                }
                self.check_available(sure);
            }
            Step::Unmark(set) => {
                let machines = self.seen_machines.iter_mut();
                for one in machines.filter(|one| {
                    one.set == *set
                        && one.marked
                        && !one.targeted
                        && one.state == State::Available
                        && !one.leaving
                }) {
                    one.marked = false;
                    let real = self.machines.iter_mut().filter(|real| real.id == one.id);
                    real.for_each(|real| real.marked = false);
                }
            }
            Step::Scale(sizes) => {
                for (set, size) in sizes {
                    self.scale(*set, *size, &seen, sure);
                }
            }
            Step::List => {
                self.seen_machines.clone_from(&self.machines);
                self.doubtful &= !self.seen_sets.iter().all(is_closed);
                self.listed = Some(self.state());
            }
            Step::Wait(_) | Step::Done => {}
        }
        step
    }

    fn scale(&mut self, set: usize, size: usize, seen: &[Numbers; TEMPLATES], sure: usize) {
        if self.seen_sets[set].version != self.sets[set].version {
            return;
        }
        let before = seen[set].desired;
        assert_ne!(size, before, "every write changes something");
        self.check_guard(set, size, seen);
        self.doubtful |= size < before && seen[set].members < before;
        self.sets[set].desired = size;
        self.sets[set].version += 1;
        self.seen_sets[set] = self.sets[set];
        self.scaled += 1;
        if size > before {
            assert!(
                self.potential() <= self.limit() + self.replaced.len(),
                "{} Machines may exist, {} are allowed and {} being replaced",
                self.potential(),
                self.limit(),
                self.replaced.len()
            );
        } else {
            self.check_available(sure);
        }
    }

    fn check_available(&self, sure: usize) {
        if self.spec.recreate {
            return;
        }
        let minimum = self.spec.replicas.saturating_sub(self.spec.unavailable).min(sure);
        let left = Self::sure(&numbers(&self.sets, &self.machines, &self.used, true))
            + self.unseen_losses();
        assert!(left >= minimum, "{left} Machines stay available, {minimum} are needed");
    }

    /// One step of the MachineSet controller.
    fn manage(&mut self, set: usize) {
        let (known, stored) = (self.known[set], self.sets[set]);
        let current = known.version == stored.version;
        let members: Vec<_> = (0..self.machines.len())
            .filter(|at| self.machines[*at].set == set && !self.machines[*at].leaving)
            .collect();
        let open = open(&self.sets, &self.machines, &self.used, set);
        let missing = known.desired.saturating_sub(members.len() + open.len());
        if known.aborted && (missing > 0 || !open.is_empty()) {
            // It creates no Machines.
            if current && !is_closed(&stored) {
                self.sets[set].window.0 = stored.window.1;
                self.sets[set].version += 1;
            }
        } else if missing > 0 && current {
            self.sets[set].window.1 += missing;
            self.sets[set].version += 1;
        } else if !open.is_empty() && (!current || members.len() < known.desired) {
            // Also from a stale view: the names are reserved.
            self.ids += 1;
            self.machines.push(Machine {
                id: self.ids,
                set,
                ordinal: open[0],
                state: State::WithoutNode,
                marked: false,
                targeted: false,
                leaving: false,
            });
        } else if !is_closed(&stored) {
            self.sets[set].window.0 = stored.window.1;
            self.sets[set].version += 1;
        } else if current && members.len() > known.desired {
            let mut order = members;
            self.rng.shuffle(&mut order);
            order.sort_by_key(|at| match self.machines[*at] {
                Machine { marked: true, .. } | Machine { targeted: true, .. } => 0,
                Machine { state: State::Failed, .. } => 1,
                Machine { state: State::WithoutNode, .. } => 2,
                _ => 3,
            });
            self.machines[order[0]].leaving = true;
        }
        self.known[set] = self.sets[set];
    }

    fn live_on(&mut self, at: usize) {
        let broken = self.broken[self.machines[at].set];
        let machine = &mut self.machines[at];
        machine.state = match machine.state {
            State::WithoutNode => State::NotReady,
            State::NotReady if !broken => State::Available,
            state => state,
        };
    }

    fn vanish(&mut self, at: usize) {
        let machine = self.machines.remove(at);
        self.used.push((machine.set, machine.ordinal));
        self.replaced.retain(|id| *id != machine.id);
    }

    fn anything(&mut self) {
        let template = self.rng.usize(..TEMPLATES);
        let machine = (!self.machines.is_empty()).then(|| self.rng.usize(..self.machines.len()));
        let before = self.spec;
        match (self.rng.u32(..40), machine) {
            (0, _) if self.rng.bool() => self.spec.template = template,
            (1, _) if self.rng.bool() => self.spec.replicas = self.rng.usize(..8),
            (2, _) => {
                let surge = self.rng.usize(..3);
                self.spec.surge = surge;
                self.spec.unavailable = self.rng.usize(usize::from(surge == 0)..3);
            }
            (3, _) if self.rng.u32(..4) == 0 => self.spec.paused ^= true,
            (4, _) if self.rng.u32(..10) == 0 => self.spec.recreate ^= true,
            (38, _) => {
                let count = self.rng.usize(1..4);
                self.spec.canaries = self.rng.bool().then_some(count);
            }
            (5, _) => self.broken[template] ^= true,
            (6, Some(at)) => self.machines[at].state = State::Failed,
            (7, Some(at)) if self.machines[at].state == State::Available => {
                self.machines[at].state = State::NotReady;
            }
            (8, Some(at)) if !self.machines[at].leaving => {
                self.machines[at].leaving = true;
                self.replaced.push(self.machines[at].id);
            }
            (36, Some(at)) if self.rng.bool() => {
                // As cluster-autoscaler does: with a Node, before it scales, and after it drained.
                let machine = &mut self.machines[at];
                machine.targeted |= machine.state == State::Available && !machine.leaving;
            }
            (9, _) => {
                // Another process leads: its caches are complete.
                self.seen_sets = self.sets;
                self.seen_machines.clone_from(&self.machines);
                self.doubtful = !self.sets.iter().all(is_closed);
            }
            (10..14, _) => self.seen_sets = self.sets,
            (14..17, _) => self.seen_machines.clone_from(&self.machines),
            (17..20, _) => self.known[template] = self.sets[template],
            (20..26, _) => self.manage(template),
            (26..30, Some(at)) if self.machines[at].leaving => self.vanish(at),
            (26..34, Some(at)) => self.live_on(at),
            _ => drop(self.reconcile()),
        }
        self.spec.generation += usize::from(self.spec != before);
    }

    /// Old Machines do not recover; everything else works from now on.
    fn settle(&mut self, seed: u64) {
        self.spec.paused = false;
        self.settles = true;
        self.broken = std::array::from_fn(|set| set != self.spec.template);
        for _ in 0..400 {
            self.known = self.sets;
            for set in 0..TEMPLATES {
                self.manage(set);
            }
            while let Some(at) = self.machines.iter().position(|one| one.leaving) {
                self.vanish(at);
            }
            for at in 0..self.machines.len() {
                self.live_on(at);
                // Failed Machines are replaced by others.
                let machine = &mut self.machines[at];
                machine.leaving = machine.state == State::Failed;
                // cluster-autoscaler changes its mind.
                machine.targeted &= machine.set != self.spec.template;
            }
            self.seen_sets = self.sets;
            self.seen_machines.clone_from(&self.machines);
            if self.reconcile() == Step::Done && self.is_complete() {
                return;
            }
        }
        panic!("seed {seed} never ends: {:?} {:?} {:?}", self.spec, self.sets, self.machines);
    }

    fn is_complete(&self) -> bool {
        let numbers = numbers(&self.sets, &self.machines, &self.used, true);
        numbers.iter().enumerate().all(|(set, numbers)| {
            let wanted = if set == self.spec.template { self.spec.replicas } else { 0 };
            numbers.desired == wanted && numbers.available == wanted && numbers.count() == wanted
        })
    }
}

#[test]
fn limits_hold_whatever_happens_and_every_rollout_ends() {
    let (mut scaled, mut aborted) = (0, 0);
    for seed in 0..1200 {
        let mut world = World::new(seed);
        for _ in 0..150 {
            world.anything();
        }
        scaled += world.scaled;
        aborted += world.aborted;
        world.settle(seed);
    }
    assert!(scaled > 4_000, "only {scaled} sets were scaled");
    assert!(aborted > 100, "only {aborted} rollouts were aborted");
}
