//! A model of a deployment: its controller with stale views of sets and Machines, and one MachineSet controller with a
//! stale view of the sets. Whatever happens in whatever order, the limits hold and the rollout ends.

use fastrand::Rng;

use super::super::{Apart, Fleet, Guard, Numbers, Preserved, Step, Wait};

const TEMPLATES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    WithoutNode,
    NotReady,
    Available,
    Failed,
}

#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
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
    /// Its MachineSet does not delete it.
    kept: bool,
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

    /// A mark of others wins.
    fn is_kept(&self) -> bool {
        self.kept && !self.targeted && !self.leaving
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
    /// The set whose preserved Machines are replicas, in the last reconcile.
    current: Option<usize>,
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

/// `exact`: the Machines are known to be all. `current`: the set whose Machines are to stay.
fn numbers(
    sets: &[Set; TEMPLATES],
    machines: &[Machine],
    used: &[(usize, usize)],
    exact: bool,
    current: Option<usize>,
) -> [Apart; TEMPLATES] {
    std::array::from_fn(|set| {
        let mut preserved = Preserved::default();
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
            if machine.is_kept() {
                let available = machine.state == State::Available;
                *if available { &mut preserved.available } else { &mut preserved.others } += 1;
                continue;
            }
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
        numbers.without(preserved, current == Some(set))
    })
}

fn plain(sets: &[Apart; TEMPLATES]) -> [Numbers; TEMPLATES] {
    sets.map(|set| set.numbers)
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
            current: None,
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

    /// Of Machines that are not preserved, beside the deployment.
    fn limit(&self) -> usize {
        self.spec.replicas + if self.spec.recreate { 0 } else { self.spec.surge }
    }

    /// Whether a set other than `new` has Machines to lose, as the controller sees it.
    fn is_rolling(&self, new: usize) -> bool {
        let seen = numbers(&self.seen_sets, &self.seen_machines, &[], false, None);
        (0..TEMPLATES).any(|set| set != new && seen[set].numbers.desired > 0)
    }

    /// The set whose preserved Machines are replicas, as the controller sees it.
    fn current(&self) -> Option<usize> {
        let (sets, template) = (&self.seen_sets, self.spec.template);
        let newest = || (0..TEMPLATES).rev().find(|set| sets[*set].desired > 0);
        let current = sets[template].exists.then_some(template);
        let current = current.or_else(|| newest().filter(|_| self.spec.paused));
        current.filter(|current| !self.is_rolling(*current))
    }

    fn seen(&self) -> [Apart; TEMPLATES] {
        let listed = self.listed();
        numbers(&self.seen_sets, &self.seen_machines, &[], listed, self.current)
    }

    fn actual(&self) -> [Apart; TEMPLATES] {
        numbers(&self.sets, &self.machines, &self.used, true, self.current)
    }

    /// How many replicas are preserved and not available.
    fn excused(&self, sets: &[Apart; TEMPLATES]) -> usize {
        self.current.map_or(0, |set| sets[set].shift)
    }

    /// How many Machines are to be there.
    fn wanted(&self, sets: &[Apart; TEMPLATES]) -> usize {
        self.spec.replicas.saturating_sub(self.excused(sets))
    }

    /// The Machines that may exist at once if no set is scaled, without preserved ones.
    fn potential(&self) -> usize {
        let actual = self.actual();
        actual.iter().map(|set| set.numbers.count()).sum::<usize>() + self.excused(&actual)
    }

    /// The available Machines that are left in the worst case.
    fn sure(sets: &[Apart; TEMPLATES]) -> usize {
        sets.iter().map(|set| set.numbers.sure(set.numbers.desired)).sum()
    }

    /// Machines whose preservation, or whose use while they are preserved, is not in the view.
    fn unseen_preservations(&self) -> usize {
        let seen = |id| self.seen_machines.iter().find(|seen| seen.id == id);
        let differs = |one: &&Machine| {
            seen(one.id).map_or(one.is_kept(), |seen| {
                let states = one.is_kept() && seen.state != one.state;
                seen.is_kept() != one.is_kept() || states
            })
        };
        // A user has deleted it, and it is replaced as any other.
        let is_gone = |one: &&Machine| self.machines.iter().all(|now| now.id != one.id);
        let gone = self.seen_machines.iter().filter(|one| one.is_kept()).filter(is_gone).count();
        self.machines.iter().filter(differs).count() + gone
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

    fn step(&self, sets: &[Apart; TEMPLATES]) -> Step {
        let replicas = self.wanted(sets);
        let sets = plain(sets);
        let Spec { surge, unavailable, template, paused, recreate, .. } = self.spec;
        let new = self.seen_sets[template].exists.then_some(template);
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
        match self.spec.canaries {
            _ if !new.exists => Guard::None,
            _ if new.aborted => Guard::Aborted,
            Some(count)
                if !new.passed && !self.spec.recreate && self.is_rolling(self.spec.template) =>
            {
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
    fn finds(&mut self, seen: &[Apart; TEMPLATES]) -> bool {
        let new = seen[self.spec.template].numbers;
        // Also one that is preserved.
        let fails = self.seen_machines.iter().any(|one| {
            one.set == self.spec.template && !one.leaving && one.state != State::Available
        });
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
            _ if fails && !self.settles && self.rng.u32(..20) == 0 => {
                self.store(|set| set.aborted = true);
                self.aborted += 1;
                true
            }
            _ => false,
        }
    }

    /// What a guarded rollout must not do. `size` is another one than the set has.
    fn check_guard(&self, set: usize, size: usize, seen: &[Apart; TEMPLATES]) {
        let replicas = self.wanted(seen);
        let limit = replicas + self.limit() - self.spec.replicas;
        let seen = plain(seen);
        let (spec, before) = (self.spec, seen[set].desired);
        let is_new = set == spec.template;
        assert!(size < before || !seen[set].aborted, "an aborted set creates no Machines");
        let old = |at: &usize| *at != spec.template;
        let wanted = |set: usize| seen[set].desired;
        let old: usize = (0..TEMPLATES).filter(old).map(wanted).sum();
        let new = wanted(spec.template);
        let excess = (old + new).saturating_sub(limit);
        match self.guard() {
            Guard::Canary(count) if is_new && size > before => {
                assert!(size <= count, "{size} new Machines before {count} canaries passed");
            }
            // Old Machines make room for canaries, and fewer replicas are wanted.
            Guard::Canary(count) if !is_new && size < before && excess == 0 => {
                let room = count.max(new).saturating_sub(limit - replicas);
                let left = old + size - before;
                assert!(left + room >= replicas, "{left} old Machines are left");
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
        self.current = self.current();
        let seen = self.seen();
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
                        && !one.is_kept()
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
                        && !one.is_kept()
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

    fn scale(&mut self, set: usize, to: usize, seen: &[Apart; TEMPLATES], sure: usize) {
        if self.seen_sets[set].version != self.sets[set].version {
            return;
        }
        let before = self.seen_sets[set].desired;
        let size = seen[set].stored(to, self.spec.replicas);
        assert_ne!(size, before, "every write changes something");
        self.check_guard(set, to, seen);
        let own = |one: &&Machine| one.set == set && !one.leaving;
        let members = self.seen_machines.iter().filter(own).count();
        self.doubtful |= size < before && members < before;
        self.sets[set].desired = size;
        self.sets[set].version += 1;
        self.seen_sets[set] = self.sets[set];
        self.scaled += 1;
        if size > before {
            assert!(
                self.potential()
                    <= self.limit() + self.replaced.len() + self.unseen_preservations(),
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
        let actual = self.actual();
        let minimum = self.wanted(&actual).saturating_sub(self.spec.unavailable).min(sure);
        let left = Self::sure(&actual) + self.unseen_losses() + self.unseen_preservations();
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
                kept: false,
            });
        } else if !is_closed(&stored) {
            self.sets[set].window.0 = stored.window.1;
            self.sets[set].version += 1;
        } else if current && members.len() > known.desired {
            let mut order: Vec<_> =
                members.into_iter().filter(|at| !self.machines[*at].is_kept()).collect();
            self.rng.shuffle(&mut order);
            order.sort_by_key(|at| match self.machines[*at] {
                Machine { marked: true, .. } | Machine { targeted: true, .. } => 0,
                Machine { state: State::Failed, .. } => 1,
                Machine { state: State::WithoutNode, .. } => 2,
                _ => 3,
            });
            if let Some(first) = order.first() {
                self.machines[*first].leaving = true;
            }
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
            (37, Some(at)) => self.machines[at].kept ^= true,
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
        // With the preserved Machines beside it, and without them when that ends.
        self.end(seed);
        self.machines.iter_mut().for_each(|one| one.kept = false);
        self.end(seed);
        assert_eq!(self.machines.len(), self.spec.replicas, "nothing is left, seed {seed}");
    }

    fn end(&mut self, seed: u64) {
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
                machine.leaving = machine.state == State::Failed && !machine.kept;
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
        let actual = self.actual();
        let wanted = self.wanted(&actual);
        plain(&actual).iter().enumerate().all(|(set, numbers)| {
            let wanted = if set == self.spec.template { wanted } else { 0 };
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
