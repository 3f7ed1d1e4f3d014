//! What preserved Machines (`machinist.dev/preserve`) change in the numbers of a set. Its MachineSet counts them and
//! deletes others instead, so they are taken out of its size and of its Machines alike, and sizes are written with
//! them. In an old set, and in every set during a rollout, all are beside the deployment. In the current set, those
//! that are available serve and count; the others do not, and the deployment has that many fewer to count: they are
//! neither waited for nor replaced.

use super::Numbers;

/// What the preserved Machines of a set are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Role {
    /// Beside the deployment.
    Beside,
    /// Replicas, of which nothing is expected while they are not available.
    Replicas,
    /// As all others, during an update in place: it waits for them.
    Members,
}

/// The preserved Machines among the members of a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Preserved {
    pub(in super::super) available: usize,
    pub(in super::super) others: usize,
}

/// The numbers of a set without the Machines that are beside the deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Apart {
    pub(in super::super) numbers: Numbers,
    /// How much larger the size in the MachineSet is.
    pub(in super::super) shift: usize,
    current: bool,
}

impl Numbers {
    /// `self`: `desired` and `members` with the preserved Machines, everything else without.
    pub(in super::super) fn without(self, preserved: Preserved, current: bool) -> Apart {
        let Preserved { available, others } = preserved;
        let shift = if current { others } else { available + others };
        let shifted = |size: usize| size.saturating_sub(shift);
        let desired = shifted(self.desired);
        // Of those that serve, the ones that the size includes.
        let serving = if current { available.min(desired) } else { 0 };
        let numbers = Self {
            desired,
            members: self.members - available - others + serving,
            available: self.available + serving,
            late: self.late.map(|(least, most)| (shifted(least), shifted(most))),
            ..self
        };
        Apart { numbers, shift, current }
    }
}

impl Apart {
    /// The size that is stored, so that `size` Machines beside the preserved ones are left. An old set without such
    /// Machines gets 0: then its MachineSet deletes the preserved ones when that ends.
    pub(in super::super) fn stored(&self, size: usize, replicas: usize) -> usize {
        match size {
            0 if self.current => self.shift.min(replicas),
            0 => 0,
            _ => size + self.shift,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(
        desired: usize,
        members: usize,
        kept: (usize, usize),
        current: bool,
    ) -> (Apart, [usize; 3]) {
        let (available, others) = kept;
        let free = members - available - others;
        let numbers = Numbers { desired, members, available: free, ..Numbers::default() };
        let apart = numbers.without(Preserved { available, others }, current);
        let Numbers { desired, members, available, .. } = apart.numbers;
        (apart, [desired, members, available])
    }

    #[test]
    fn old_sets_have_only_the_others_and_the_current_one_those_that_serve() {
        for (desired, members, kept, old, current) in [
            (3, 3, (0, 0), [3, 3, 3], [3, 3, 3]),
            (3, 3, (0, 1), [2, 2, 2], [2, 2, 2]),
            (3, 3, (1, 0), [2, 2, 2], [3, 3, 3]),
            (3, 3, (1, 1), [1, 1, 1], [2, 2, 2]),
            // Scaled down as far as it can be: none is on its way out.
            (0, 2, (1, 1), [0, 0, 0], [0, 0, 0]),
            (1, 2, (2, 0), [0, 0, 0], [1, 1, 1]),
            (1, 2, (1, 1), [0, 0, 0], [0, 0, 0]),
            // And here one is.
            (2, 4, (1, 1), [0, 2, 2], [1, 3, 3]),
        ] {
            assert_eq!(apart(desired, members, kept, false).1, old, "{desired} {members} {kept:?}");
            assert_eq!(
                apart(desired, members, kept, true).1,
                current,
                "{desired} {members} {kept:?}"
            );
        }
    }

    #[test]
    fn what_is_stored_leaves_as_many_others_and_nothing_in_an_old_set_at_the_end() {
        let (old, _) = apart(3, 3, (1, 1), false);
        assert_eq!([2, 1, 0].map(|size| old.stored(size, 9)), [4, 3, 0]);
        let (current, _) = apart(3, 3, (1, 1), true);
        assert_eq!([2, 1, 0].map(|size| current.stored(size, 9)), [3, 2, 1]);
        assert_eq!(current.stored(0, 0), 0);
    }
}
