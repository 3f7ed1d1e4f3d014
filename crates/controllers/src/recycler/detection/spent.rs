//! Occurrences that a recycle has made obsolete, because the group has new instances since. They must not return with
//! the Events of the window, which are counted again after every change of the spec, nor with open occurrences.

use std::collections::BTreeMap;

use machinist_provider::node_groups::GroupRef;

use super::counting::Located;
use super::window::{Minute, minute_of};
use crate::recycler::history;
use crate::recycler::snapshot::Facts;

/// The minute of the last recycle of each group.
pub(in crate::recycler) struct Spent<'a>(BTreeMap<&'a GroupRef, Option<Minute>>);

impl<'a> Spent<'a> {
    pub(in crate::recycler) fn of(facts: &'a Facts) -> Self {
        let mut groups = BTreeMap::new();
        for group in facts.reopened.iter().chain(&facts.news).filter_map(Located::group) {
            let last = || history::last(&facts.status, group, false).map(minute_of);
            groups.entry(group).or_insert_with(last);
        }
        Self(groups)
    }

    pub(in crate::recycler) fn has(&self, news: &Located) -> bool {
        self.ended(news).is_some_and(|ended| news.occurrence.minute < ended)
    }

    /// Whether it happened before or in that minute: it may have been counted before the recycle.
    pub(in crate::recycler) fn has_minute_of(&self, news: &Located) -> bool {
        self.ended(news).is_some_and(|ended| news.occurrence.minute <= ended)
    }

    fn ended(&self, news: &Located) -> Option<Minute> {
        news.group().and_then(|group| self.0.get(group).copied().flatten())
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::Version;
    use serde_json::json;

    use crate::recycler::decide::decide;
    use crate::recycler::samples::{Sample, news, now};

    fn counts(sample: &Sample) -> Vec<(String, u64)> {
        let counted = decide(&sample.snapshot(), now()).counted.unwrap();
        counted.counts.iter().map(|(group, count)| (group.name.to_string(), *count)).collect()
    }

    #[test]
    fn a_new_spec_does_not_count_occurrences_before_a_recycle() {
        let mut sample = Sample::new(&json!({}))
            .news("a", "p", 4, 6)
            .news("a", "q", 2, 5)
            .news("a", "r", 1, 4)
            .news("b", "s", 3, 6)
            .past("a", "Succeeded", 5);
        sample.facts.counting.mark = Version::default();
        assert_eq!(counts(&sample), [("a".to_owned(), 1), ("b".to_owned(), 3)]);
        // Occurrences after a mark were not counted yet.
        sample.facts.counting.mark = Version(10);
        assert_eq!(counts(&sample), [("a".to_owned(), 7), ("b".to_owned(), 3)]);
    }

    #[test]
    fn a_dry_run_makes_nothing_obsolete() {
        for dry_run in [true, false] {
            let mut sample = Sample::new(&json!({ "dryRun": dry_run }));
            sample = sample.news("a", "p", 4, 6).past("a", "DryRun", 5);
            sample.facts.counting.mark = Version::default();
            assert_eq!(counts(&sample), [("a".to_owned(), 4)]);
        }
    }

    #[test]
    fn open_occurrences_before_a_recycle_do_not_count() {
        let mut sample = Sample::new(&json!({})).past("a", "Succeeded", 5);
        sample.facts.reopened = vec![news("a", "p", 4, 6), news("a", "q", 2, 5)];
        assert_eq!(counts(&sample), [("a".to_owned(), 2)]);
    }
}
