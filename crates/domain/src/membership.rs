//! Whether a machine belongs to a set: one predicate, used wherever machines of a set are counted, adopted, released or deleted.
//!
//! Whether a machine is well plays no part in it: a failed machine is a member until somebody deletes it.

/// Who manages a machine, from the point of view of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// The set.
    ThisSet,
    /// Nobody.
    Nobody,
    /// Another set, or something else.
    Another,
}

/// What a machine is to a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It counts.
    Member,
    /// It was one and is on its way out: it counts no more, and nothing is done to it.
    Leaving,
    /// Nobody's, but the set selects it: it is adopted.
    Orphan,
    /// The set's, which does not select it any more: it is released, and stays.
    Stray,
    /// Not the set's business.
    Stranger,
}

/// What a machine is to a set that selects it or not.
pub fn standing(manager: Manager, selected: bool, deleting: bool) -> Standing {
    match (manager, selected, deleting) {
        (Manager::ThisSet, _, true) => Standing::Leaving,
        (Manager::ThisSet, true, false) => Standing::Member,
        (Manager::ThisSet, false, false) => Standing::Stray,
        (Manager::Nobody, true, false) => Standing::Orphan,
        (Manager::Nobody | Manager::Another, _, _) => Standing::Stranger,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_one_standing() {
        use Manager::{Another, Nobody, ThisSet};
        use Standing::{Leaving, Member, Orphan, Stranger, Stray};
        // Manager, and then: selected, selected and deleting, not selected, not selected and deleting.
        let table = [
            (ThisSet, [Member, Leaving, Stray, Leaving]),
            (Nobody, [Orphan, Stranger, Stranger, Stranger]),
            (Another, [Stranger, Stranger, Stranger, Stranger]),
        ];
        for (manager, expected) in table {
            let found = [(true, false), (true, true), (false, false), (false, true)]
                .map(|(selected, deleting)| standing(manager, selected, deleting));
            assert_eq!(found, expected, "{manager:?}");
        }
    }
}
