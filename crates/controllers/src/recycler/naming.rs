//! Names of groups in texts and status: plain as in kaws, with the region (`eu-west-3/workers`) where two are equal.

use std::collections::BTreeSet;

use machinist_provider::node_groups::{GroupName, GroupRef};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    shared: BTreeSet<GroupName>,
}

impl Names {
    /// Names that are unique among these groups.
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

    pub(crate) fn is_shared(&self, name: &GroupName) -> bool {
        self.shared.contains(name)
    }

    pub fn of(&self, group: &GroupRef) -> String {
        if self.is_shared(&group.name) { group.to_string() } else { group.name.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_is_added_where_two_groups_have_one_name() {
        let groups = [("eu-west-3", "a"), ("us-east-1", "a"), ("us-east-1", "b")]
            .map(|(region, name)| GroupRef::new(region, name));
        let called = |groups: &[GroupRef]| -> Vec<String> {
            let names = Names::among(groups);
            groups.iter().map(|group| names.of(group)).collect()
        };
        assert_eq!(called(&groups), ["eu-west-3/a", "us-east-1/a", "b"]);
        assert_eq!(called(&groups[1..]), ["a", "b"]);
        let same = [groups[0].clone(), groups[0].clone()];
        assert_eq!(called(&same), ["a", "a"], "the same group twice");
    }
}
