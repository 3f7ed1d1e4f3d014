//! Machines that are marked for deletion, as cluster-autoscaler does before it scales a deployment down: they go first,
//! in whichever set they are. A MachineSet deletes its own marked Machines first, so here the sets are chosen. A marked
//! Machine does not count as available, so none of this costs an available one.

use super::{Fleet, Guard, Numbers, Step};

impl Numbers {
    /// Marked Machines that go if the set is scaled down, beyond those that go already.
    fn marks(&self) -> usize {
        let going = self.members.saturating_sub(self.desired);
        self.marked.saturating_sub(going).min(self.wanted())
    }
}

impl Fleet<'_> {
    /// Takes up to `excess` marked Machines, from all sets.
    pub(super) fn marked(&self, excess: usize) -> Option<Step> {
        self.marked_of(0..self.sets.len(), excess)
    }

    /// Takes marked Machines of the new set during a roll, which would wait for them: they do not count as available,
    /// and it is the old sets that shrink. Within the limits they are replaced.
    pub(super) fn marked_new(&self, new: usize) -> Option<Step> {
        self.active_old().next()?;
        if self.guard == Guard::Aborted {
            return None;
        }
        let unavailable = self.missing(new).saturating_sub(self.sets[new].marks());
        let budget = self.wanted().saturating_sub(self.minimum()).saturating_sub(unavailable);
        self.marked_of(new..new + 1, budget)
    }

    fn marked_of(&self, sets: std::ops::Range<usize>, excess: usize) -> Option<Step> {
        let mut left = excess;
        let mut sizes = Vec::new();
        for set in sets {
            let numbers = &self.sets[set];
            let fewer = numbers.most_fewer(numbers.marks().min(left), 0);
            if fewer > 0 {
                left -= fewer;
                sizes.push((set, numbers.desired - fewer));
            }
        }
        if sizes.is_empty() {
            None
        } else if self.doubtful {
            Some(Step::List)
        } else {
            Some(Step::Scale(sizes))
        }
    }
}
