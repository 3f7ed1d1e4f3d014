//! How many Machines each set gets next. Input: every set in numbers; output: one [`Step`].
//!
//! The view may be stale, so every number is the worst case. Machines that may exist: those that are wanted, or exist,
//! or may be in creation, whichever is more, and those being deleted. Machines that stay available: those that are left
//! when a MachineSet has deleted its excess, available ones first where its deletion order does not exclude it. So
//! neither `replicas + maxSurge` nor `replicas − maxUnavailable` depends on how late the watches are.
//! Not here: which set is the new one, and what is written.

mod guarded;
mod in_place;
mod preserved;
mod targeted;

pub(super) use self::guarded::Guard;
pub(super) use self::preserved::{Apart, Preserved, Role};

/// One set. Sets are in the order of their age.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// `spec.replicas`.
    pub(super) desired: usize,
    /// Machines that are not being deleted.
    pub(super) members: usize,
    /// Machines that may be in creation: the MachineSet has reserved their names.
    pub(super) open: usize,
    /// Machines that are being deleted.
    pub(super) leaving: usize,
    /// The least and the most that a write without an answer may still store as `spec.replicas`.
    pub(super) late: Option<(usize, usize)>,
    /// Members that are available and not marked for deletion.
    pub(super) available: usize,
    /// Members that the MachineSet deletes before any available one: marked or failed. Those without a Node follow, but
    /// may have one meanwhile.
    pub(super) first: usize,
    /// Those of them that are marked.
    pub(super) marked: usize,
    /// Those of the marked ones that would be available.
    pub(super) marked_available: usize,
    /// Other members that are not available and can be marked.
    pub(super) markable: usize,
    /// Members that are available but for our mark.
    pub(super) recovered: usize,
    /// The set itself is being deleted; it is not scaled.
    pub(super) deleting: bool,
    /// The rollout of its template was aborted: it creates no Machines.
    pub(super) aborted: bool,
    /// The Machines were listed live in this state of the set, so there are no others.
    pub(super) exact: bool,
}

/// A deployment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fleet<'a> {
    pub(super) replicas: usize,
    pub(super) surge: usize,
    pub(super) unavailable: usize,
    pub(super) paused: bool,
    pub(super) recreate: bool,
    pub(super) guard: Guard,
    /// Machines of a set that was scaled down may not be in the view.
    pub(super) doubtful: bool,
    /// The set of the current template.
    pub(super) new: Option<usize>,
    pub(super) sets: &'a [Numbers],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Mark so many of the set's unavailable Machines for deletion, so that the next scale-down deletes these.
    Mark(usize, usize),
    /// Remove our marks from the set's Machines that are available again.
    Unmark(usize),
    /// Scale sets to these numbers.
    Scale(Vec<(usize, usize)>),
    /// List the Machines live, because it matters whether there are more than in the view.
    List,
    Wait(Wait),
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// So many new Machines must become available.
    Available(usize),
    /// Machines must be gone.
    Gone,
    Paused,
    /// Canaries must be available for long enough.
    Canary,
    Aborted,
}

impl Numbers {
    /// How many Machines may exist.
    pub(super) fn count(&self) -> usize {
        let late = self.late.map_or(0, |(_, most)| most);
        self.wanted().max(late).max(self.members + self.open) + self.leaving
    }

    fn wanted(&self) -> usize {
        if self.deleting { 0 } else { self.desired }
    }

    /// How many Machines may have been created and not deleted. Some may not be in the view, or not exist yet.
    fn most(&self) -> usize {
        let known = self.members + self.open;
        if self.exact { known } else { known.max(self.desired) }
    }

    /// How many available Machines are left in the worst case once the set has `desired` Machines.
    pub(super) fn sure(&self, desired: usize) -> usize {
        if self.deleting {
            return 0;
        }
        let desired = self.late.map_or(desired, |(least, _)| desired.min(least));
        let excess = self.most().saturating_sub(desired);
        self.available.saturating_sub(excess.saturating_sub(self.first))
    }

    fn lost(&self, fewer: usize) -> usize {
        self.sure(self.desired) - self.sure(self.desired.saturating_sub(fewer))
    }

    /// The largest decrease up to `fewer` that costs at most `spare` available Machines.
    fn most_fewer(&self, fewer: usize, spare: usize) -> usize {
        let fewer = fewer.min(self.desired);
        (0..=fewer).rev().find(|fewer| self.lost(*fewer) <= spare).unwrap_or(0)
    }
}

impl Fleet<'_> {
    pub(super) fn step(&self) -> Step {
        let step = match self.new {
            _ if self.paused => self.paused(),
            None => None,
            // It must not delete what works, either.
            Some(new) if self.guard == Guard::Aborted => self.roll(new),
            Some(new) if self.recreate => self.recreate(new),
            Some(new) => self.roll(new),
        };
        step.unwrap_or_else(|| self.rest())
    }

    /// The most Machines that may exist.
    fn limit(&self) -> usize {
        self.replicas + if self.recreate { 0 } else { self.surge }
    }

    fn minimum(&self) -> usize {
        self.replicas - self.unavailable.min(self.replicas)
    }

    fn wanted(&self) -> usize {
        self.sets.iter().map(Numbers::wanted).sum()
    }

    fn count(&self) -> usize {
        self.sets.iter().map(Numbers::count).sum()
    }

    /// How many available Machines can be lost.
    fn spare(&self) -> usize {
        let sure: usize = self.sets.iter().map(|set| set.sure(set.desired)).sum();
        sure.saturating_sub(self.minimum())
    }

    fn is_active(&self, set: usize) -> bool {
        self.sets[set].wanted() > 0
    }

    fn active_old(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.sets.len()).filter(|set| Some(*set) != self.new && self.is_active(*set))
    }

    fn roll(&self, new: usize) -> Option<Step> {
        let old = self.active_old();
        let rolling = old.clone().next().is_some();
        let most = if rolling { self.limit() } else { self.replicas };
        self.shrink(most)
            .or_else(|| {
                let excess = self.sets[new].desired.saturating_sub(self.replicas);
                self.lower(new, excess, self.spare())
            })
            .or_else(|| self.unmark(new))
            .or_else(|| self.raise(new, self.most_new().saturating_sub(self.sets[new].desired)))
            .or_else(|| self.raise_old(new))
            .or_else(|| self.marked_new(new))
            .or_else(|| self.replace(new))
    }

    /// A set that has no Machine to delete needs no marks. Old sets keep theirs: they will be scaled down.
    fn unmark(&self, set: usize) -> Option<Step> {
        let numbers = &self.sets[set];
        if numbers.recovered == 0 || numbers.members + numbers.open > numbers.desired {
            None
        } else if self.doubtful {
            Some(Step::List)
        } else {
            Some(Step::Unmark(set))
        }
    }

    /// Takes Machines from old sets. As in Kubernetes, new Machines that are not available reduce what may be taken: a
    /// template whose Machines never become available stops the roll, whatever the state of the old Machines is.
    fn replace(&self, new: usize) -> Option<Step> {
        let unavailable = self.missing(new);
        let budget = self.wanted().saturating_sub(self.minimum()).saturating_sub(unavailable);
        let budget = budget.min(self.replaceable(new));
        let unhealthy = self.active_old().find_map(|set| {
            let numbers = &self.sets[set];
            let unhealthy = numbers.desired.saturating_sub(numbers.sure(numbers.desired));
            self.lower(set, unhealthy.min(budget), 0)
        });
        unhealthy.or_else(|| {
            let spare = self.spare().min(budget);
            self.active_old().find_map(|set| self.lower(set, spare, spare))
        })
    }

    /// Machines of a set that are wanted and not available.
    fn missing(&self, set: usize) -> usize {
        let numbers = &self.sets[set];
        numbers.desired.saturating_sub(numbers.sure(numbers.desired))
    }

    fn recreate(&self, new: usize) -> Option<Step> {
        let old: Vec<_> = self.active_old().map(|set| (set, 0)).collect();
        if !old.is_empty() {
            return Some(Step::Scale(old));
        }
        let others = (0..self.sets.len()).filter(|set| *set != new);
        if others.map(|set| self.sets[set].count()).sum::<usize>() > 0 {
            return None;
        }
        self.shrink(self.replicas)
            .or_else(|| self.unmark(new))
            .or_else(|| self.raise(new, self.replicas.saturating_sub(self.sets[new].desired)))
    }

    /// Scales without replacing anything.
    fn paused(&self) -> Option<Step> {
        let active: Vec<_> = (0..self.sets.len()).filter(|set| self.is_active(*set)).collect();
        let most = if active.len() > 1 { self.limit() } else { self.replicas };
        let works = |set: &usize| !self.sets[*set].deleting && !self.sets[*set].aborted;
        let newest = active.iter().rev().copied().find(works);
        let newest = newest.or_else(|| (0..self.sets.len()).rev().find(works));
        let grows = self.new.filter(|new| active.contains(new) || active.is_empty()).or(newest);
        self.shrink(most).or_else(|| match self.new {
            Some(new) if self.guard != Guard::None => self.raise_old(new),
            _ => {
                let more = self.replicas.saturating_sub(self.wanted());
                grows.and_then(|set| self.raise(set, more))
            }
        })
    }

    /// Scales a set up by at most `more`. While a set has Machines to delete it is not scaled up: they may be on their
    /// way out already, and would be replaced.
    fn raise(&self, set: usize, more: usize) -> Option<Step> {
        let numbers = &self.sets[set];
        // This write takes the place of one without an answer.
        let own = Numbers { late: None, ..*numbers };
        let count = self.count() - numbers.count() + own.count();
        let more = more.min(self.limit().saturating_sub(count));
        if more == 0 || numbers.members + numbers.open > numbers.desired {
            None
        } else if self.doubtful {
            Some(Step::List)
        } else {
            Some(Step::Scale(vec![(set, numbers.desired + more)]))
        }
    }

    /// Scales a set down by up to `fewer`, losing at most `spare` available Machines. Unavailable Machines that the set
    /// would not delete first are marked before.
    fn lower(&self, set: usize, fewer: usize, spare: usize) -> Option<Step> {
        let numbers = &self.sets[set];
        let fewer = fewer.min(numbers.desired);
        if fewer == 0 {
            return None;
        }
        self.prepare(set, fewer, spare).or_else(|| {
            let fewer = numbers.most_fewer(fewer, spare);
            (fewer > 0).then(|| Step::Scale(vec![(set, numbers.desired - fewer)]))
        })
    }

    /// What makes a scale-down by `fewer` cost less.
    fn prepare(&self, set: usize, fewer: usize, spare: usize) -> Option<Step> {
        let numbers = &self.sets[set];
        let missing = numbers.lost(fewer).saturating_sub(spare);
        let unknown = !numbers.exact && numbers.desired > numbers.members + numbers.open;
        if self.doubtful || (missing > 0 && unknown) {
            Some(Step::List)
        } else {
            let enough = |marks: &usize| {
                let marked = Numbers { first: numbers.first + marks, ..*numbers };
                marked.lost(fewer) <= spare
            };
            let marks = (0..=numbers.markable).find(enough).unwrap_or(numbers.markable);
            (marks > 0).then_some(Step::Mark(set, marks))
        }
    }

    /// Scales down to `most` Machines: marked ones first, then in proportion to the sizes of the sets (unless the
    /// rollout is guarded) as far as availability permits.
    fn shrink(&self, most: usize) -> Option<Step> {
        let wanted = self.wanted();
        let excess = wanted.checked_sub(most).filter(|excess| *excess > 0)?;
        // cluster-autoscaler marks Machines and then scales the deployment; the watch may be late with the marks, which
        // decide the set.
        let mut active = (0..self.sets.len()).filter(|set| self.is_active(*set));
        let listed = active.clone().all(|set| self.sets[set].exact);
        if !listed && active.nth(1).is_some() {
            return Some(Step::List);
        }
        if let Some(step) = self.marked(excess) {
            return Some(step);
        }
        let mut spare = self.spare();
        let mut sizes = Vec::new();
        for (set, target) in self.guarded_shares(most, wanted) {
            let numbers = &self.sets[set];
            let fewer = numbers.desired - target;
            if fewer > 0
                && let Some(step) = self.prepare(set, fewer, spare)
            {
                return Some(step);
            }
            let fewer = numbers.most_fewer(fewer, spare);
            if fewer > 0 {
                spare -= numbers.lost(fewer);
                sizes.push((set, numbers.desired - fewer));
            }
        }
        if !sizes.is_empty() {
            return Some(Step::Scale(sizes));
        }
        // What is left in excess is unavailable, and in the sets whose share is used up.
        (0..self.sets.len())
            .filter(|set| self.is_active(*set))
            .find_map(|set| self.lower(set, excess, spare))
    }

    /// The share of each of these sets, which want `wanted` Machines, in `most`; what rounding leaves goes to the
    /// largest remainders.
    fn shares(&self, sets: &[usize], most: usize, wanted: usize) -> Vec<(usize, usize)> {
        let share = |set: &usize| (*set, self.sets[*set].desired * most / wanted.max(1));
        let mut shares: Vec<_> = sets.iter().map(share).collect();
        let mut left = most - shares.iter().map(|(_, share)| share).sum::<usize>();
        let mut order: Vec<_> = (0..shares.len()).collect();
        order.sort_by_key(|at| {
            let set = shares[*at].0;
            let remainder = self.sets[set].desired * most % wanted.max(1);
            std::cmp::Reverse((remainder, Some(set) == self.new, set))
        });
        for at in order {
            let more = usize::from(left > 0);
            shares[at].1 += more;
            left -= more;
        }
        shares
    }

    /// Nothing is to be done now: why.
    fn rest(&self) -> Step {
        let rolls = self.active_old().next().is_some();
        // Without a rollout, nothing replaces a Machine because of its mark.
        let unavailable = self.new.map_or(0, |new| {
            let marked = if rolls { 0 } else { self.sets[new].marked_available };
            self.missing(new).saturating_sub(marked)
        });
        let wanted = self.new.map_or(0, |new| self.sets[new].desired);
        let old = (0..self.sets.len()).filter(|set| Some(*set) != self.new);
        let leaving = old.map(|set| self.sets[set].count()).sum::<usize>() > 0;
        let has_excess = |new: usize| self.sets[new].members + self.sets[new].open > wanted;
        let leaving = leaving || self.new.is_some_and(has_excess);
        if self.paused {
            Step::Wait(Wait::Paused)
        } else if self.guard == Guard::Aborted {
            Step::Wait(Wait::Aborted)
        } else if unavailable > 0 {
            Step::Wait(Wait::Available(unavailable))
        } else if matches!(self.guard, Guard::Canary(_)) {
            Step::Wait(Wait::Canary)
        } else if leaving || wanted != self.replicas {
            Step::Wait(Wait::Gone)
        } else {
            Step::Done
        }
    }
}

#[cfg(test)]
mod tests;
