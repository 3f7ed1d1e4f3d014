//! One predicate for counting, adopting, releasing and deleting. A failed Machine counts until it is deleted.

/// The controller owner of a Machine, from the point of view of one set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    ThisSet,
    None,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Membership {
    Member,
    /// It is being deleted: it does not count, and nothing is done to it.
    Leaving,
    /// It has no owner and matches the selector: it is adopted.
    Orphan,
    /// The set owns it, but the selector no longer matches: it is released and keeps running.
    Unselected,
    Unrelated,
}

pub(super) fn membership(owner: Owner, selected: bool, deleting: bool) -> Membership {
    match (owner, selected, deleting) {
        (Owner::ThisSet, _, true) => Membership::Leaving,
        (Owner::ThisSet, true, false) => Membership::Member,
        (Owner::ThisSet, false, false) => Membership::Unselected,
        (Owner::None, true, false) => Membership::Orphan,
        (Owner::None | Owner::Other, _, _) => Membership::Unrelated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_from_owner_selector_and_deletion() {
        use Membership::{Leaving, Member, Orphan, Unrelated, Unselected};
        // Per owner: selected, selected and deleting, not selected, not selected and deleting.
        let table = [
            (Owner::ThisSet, [Member, Leaving, Unselected, Leaving]),
            (Owner::None, [Orphan, Unrelated, Unrelated, Unrelated]),
            (Owner::Other, [Unrelated, Unrelated, Unrelated, Unrelated]),
        ];
        for (owner, expected) in table {
            let found = [(true, false), (true, true), (false, false), (false, true)]
                .map(|(selected, deleting)| membership(owner, selected, deleting));
            assert_eq!(found, expected, "{owner:?}");
        }
    }
}
