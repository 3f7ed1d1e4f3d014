//! How groups are called where people read of them: by their names, as kaws does it. Two regions may have groups of one name; where both are spoken of,
//! the region stands before it, as in `eu-west-3/workers`.

use std::collections::BTreeSet;

use machinist_provider::node_groups::{GroupName, GroupRef};

/// How groups are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    shared: BTreeSet<GroupName>,
}

impl Names {
    /// How these are called, where nobody else is spoken of.
    pub fn among<'a>(groups: impl IntoIterator<Item = &'a GroupRef>) -> Self {
        let groups: BTreeSet<&GroupRef> = groups.into_iter().collect();
        let (mut once, mut shared) = (BTreeSet::new(), BTreeSet::new());
        for group in groups {
            if !once.insert(&group.name) {
                shared.insert(group.name.clone());
            }
        }
        Self { shared }
    }

    /// Whether the name alone does not tell which group is meant.
    pub fn is_shared(&self, name: &GroupName) -> bool {
        self.shared.contains(name)
    }

    /// What the group is called.
    pub fn of(&self, group: &GroupRef) -> String {
        if self.is_shared(&group.name) { group.to_string() } else { group.name.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_enough_unless_two_have_it() {
        let groups = [("eu-west-3", "a"), ("us-east-1", "a"), ("us-east-1", "b")]
            .map(|(region, name)| GroupRef::new(region, name));
        let called = |groups: &[GroupRef]| -> Vec<String> {
            let names = Names::among(groups);
            groups.iter().map(|group| names.of(group)).collect()
        };
        assert_eq!(called(&groups), ["eu-west-3/a", "us-east-1/a", "b"]);
        assert_eq!(called(&groups[1..]), ["a", "b"]);
        let same = [groups[0].clone(), groups[0].clone()];
        assert_eq!(called(&same), ["a", "a"], "one group that is spoken of twice");
    }
}
