//! From a view to numbers, and from the step that [`scaling`](super::scaling) chooses with them to a plan. Pure.

use std::sync::Arc;

use jiff::Timestamp;

use super::super::plan::{Plan, Reason, Resize};
use super::super::snapshot::{SetView, View};
use super::Desired;
use super::members::{markable, numbers, recovered, size};
use super::scaling::{Apart, Fleet, Numbers, Role, Step, Wait};

fn resize(one: &SetView, to: usize) -> Resize {
    let from = size(one);
    Resize { set: Arc::clone(&one.set), from, to, all_seen: one.members.len() >= from }
}

impl Desired {
    pub(super) fn scale(&self, view: &View, now: Timestamp) -> Plan {
        let all = self.apart(view, now);
        let own = all.iter().map(|one| one.numbers);
        // Machines that cannot be adopted count, so that the deployment does not double.
        let others = view.refused.orphans.iter().map(|one| {
            let one = numbers(one, view, Role::Beside, now).numbers;
            Numbers { members: one.members.max(one.desired), deleting: true, ..one }
        });
        let sets: Vec<_> = own.chain(others).collect();
        let fleet = Fleet {
            replicas: self.replicas.saturating_sub(self.preserved(view, now)),
            surge: self.surge,
            unavailable: self.unavailable,
            paused: view.deployment.spec.paused,
            recreate: self.recreate,
            guard: self.guard(view, now),
            doubtful: view.doubtful && !view.listed,
            new: self.new,
            sets: &sets,
        };
        let step = if self.in_place.is_some() { fleet.step_in_place() } else { fleet.step() };
        match step {
            Step::Mark(set, count) => Plan::Mark(markable(&view.sets[set], count, view, now)),
            Step::Unmark(set) => Plan::Unmark(recovered(&view.sets[set], view, now)),
            Step::Scale(sizes) => {
                let sizes = sizes
                    .into_iter()
                    .map(|(set, to)| resize(&view.sets[set], all[set].stored(to, self.replicas)));
                Plan::Scale(sizes.collect())
            }
            Step::List => Plan::List,
            Step::Wait(Wait::Available(count)) => Plan::NoOp(Reason::Available(count)),
            Step::Wait(Wait::Gone) => Plan::NoOp(Reason::Gone),
            Step::Wait(Wait::Canary) => {
                let soak = self.new.and_then(|new| self.soak(view, new, now));
                Plan::NoOp(soak.map_or(Reason::Gone, Reason::Canary))
            }
            Step::Wait(Wait::Aborted) => Plan::NoOp(Reason::Aborted),
            Step::Wait(Wait::Paused) => Plan::NoOp(Reason::Paused),
            Step::Done => match self.left_behind(view) {
                sizes if sizes.is_empty() => Plan::NoOp(Reason::Complete),
                sizes => Plan::Scale(sizes),
            },
        }
    }

    /// Old sets whose size counts nothing but Machines that were preserved after the last scale-down. With the size 0,
    /// none is created in the place of one that goes.
    fn left_behind(&self, view: &View) -> Vec<Resize> {
        let Some(new) = self.new.filter(|_| !view.deployment.spec.paused) else {
            return Vec::new();
        };
        let old = view.sets.iter().enumerate().filter(|(at, _)| *at != new);
        let old = old.filter(|(_, one)| size(one) > 0 && !one.set.meta.deleting);
        old.map(|(_, one)| resize(one, 0)).collect()
    }

    /// The numbers of each set, without the preserved Machines that are beside the deployment.
    fn apart(&self, view: &View, now: Timestamp) -> Vec<Apart> {
        let current = self.current(view, now);
        let sets = view.sets.iter().enumerate();
        sets.map(|(at, one)| numbers(one, view, self.role(at, current), now)).collect()
    }

    /// Preserved Machines of the current set that are not available: nothing is expected of them.
    pub(in super::super) fn preserved(&self, view: &View, now: Timestamp) -> usize {
        let shift = |at| self.apart(view, now).get(at).map(|one: &Apart| one.shift);
        self.current(view, now).and_then(shift).unwrap_or(0)
    }

    /// The set whose preserved Machines are replicas. A paused deployment with another template goes on with its newest
    /// set. None during a rollout: new Machines that fail and are kept must not replace old ones that work.
    pub(in super::super) fn current(&self, view: &View, now: Timestamp) -> Option<usize> {
        let active = |at: &usize| size(&view.sets[*at]) > 0 && !view.sets[*at].set.meta.deleting;
        let newest = || (0..view.sets.len()).rev().find(active);
        let paused = view.deployment.spec.paused;
        let current = self.new.or_else(|| newest().filter(|_| paused));
        current.filter(|current| !self.is_rolling(view, *current, now))
    }

    pub(super) fn role(&self, at: usize, current: Option<usize>) -> Role {
        match current {
            Some(current) if current == at => Role::Replicas,
            None if self.in_place.is_some() => Role::Members,
            _ => Role::Beside,
        }
    }

    /// Whether the preserved Machines of this set are in the counters.
    pub(in super::super) fn counts_preserved(&self, at: usize, current: Option<usize>) -> bool {
        self.role(at, current) != Role::Beside
    }

    /// Whether another set has Machines to lose. An update in place does not leave preserved ones behind.
    pub(super) fn is_rolling(&self, view: &View, new: usize, now: Timestamp) -> bool {
        let others = view.sets.iter().enumerate();
        let mut others = others.filter(|(at, one)| *at != new && !one.set.meta.deleting);
        others.any(|(_, one)| match self.in_place {
            Some(_) => size(one) > 0,
            None => numbers(one, view, Role::Beside, now).numbers.desired > 0,
        })
    }
}
