//! Scaling while a rollout is guarded: canaries are observed, or the rollout is aborted. The new set gets no more
//! Machines than allowed, old sets lose only what the canaries need room for, and additional replicas are created from
//! a template that works. Fewer replicas are taken from old sets before canaries, and from an aborted set first.

use super::{Fleet, Step};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) enum Guard {
    #[default]
    None,
    /// So many new Machines are observed before others follow.
    Canary(usize),
    /// The new set creates no Machines.
    Aborted,
}

impl Fleet<'_> {
    /// The most Machines that the new set is scaled up to.
    pub(super) fn most_new(&self) -> usize {
        match self.guard {
            Guard::None => self.replicas,
            Guard::Canary(count) => count.min(self.replicas),
            Guard::Aborted => 0,
        }
    }

    fn old_wanted(&self, new: usize) -> usize {
        self.wanted() - self.sets[new].wanted()
    }

    /// How many Machines old sets may lose for new ones. Within `maxSurge`, canaries are additional Machines.
    pub(super) fn replaceable(&self, new: usize) -> usize {
        match self.guard {
            Guard::None => usize::MAX,
            Guard::Canary(_) => {
                let canaries = self.most_new().max(self.sets[new].desired);
                let kept = self.limit().saturating_sub(canaries).min(self.replicas);
                self.old_wanted(new).saturating_sub(kept)
            }
            Guard::Aborted => 0,
        }
    }

    /// Creates the Machines that are missing from an old template, as long as the new one is not known to work. Room
    /// for the canaries is kept.
    pub(super) fn raise_old(&self, new: usize) -> Option<Step> {
        if self.guard == Guard::None {
            return None;
        }
        let numbers = &self.sets[new];
        let working = self.old_wanted(new) + numbers.sure(numbers.desired);
        let missing = self.replicas.saturating_sub(working);
        let canaries = self.most_new().saturating_sub(numbers.desired);
        let room = self.limit().saturating_sub(self.count() + canaries);
        self.raise(self.working_old(new)?, missing.min(room))
    }

    /// The old set with the most available Machines, of these the youngest. Without Machines only if there is no other.
    fn working_old(&self, new: usize) -> Option<usize> {
        let old = (0..self.sets.len()).filter(|set| {
            let numbers = &self.sets[*set];
            *set != new && !numbers.deleting && !numbers.aborted
        });
        old.max_by_key(|set| {
            let numbers = &self.sets[*set];
            (self.is_active(*set), numbers.sure(numbers.desired), *set)
        })
    }

    /// The size of each active set when all together have `most` Machines.
    pub(super) fn guarded_shares(&self, most: usize, wanted: usize) -> Vec<(usize, usize)> {
        let active: Vec<_> = (0..self.sets.len()).filter(|set| self.is_active(*set)).collect();
        let Some(new) = self.new.filter(|new| active.contains(new) && self.guard != Guard::None)
        else {
            return self.shares(&active, most, wanted);
        };
        let (own, old) = (self.sets[new].desired, self.old_wanted(new));
        let kept = match self.guard {
            Guard::Canary(_) => self.most_new().max(most.saturating_sub(old)),
            _ => most.saturating_sub(old),
        };
        let kept = kept.min(own).min(most);
        let others: Vec<_> = active.into_iter().filter(|set| *set != new).collect();
        let mut shares = self.shares(&others, most - kept, old);
        shares.push((new, kept));
        shares
    }
}
