//! What a recycle has used up: the group has other instances since.
//!
//! When a recycle ends, what was counted for its group is forgotten. It must not come back: not with the Events of the window, which are counted anew
//! after every change of the spec, and not with what led to no group yet. What was only pretended has used up nothing.

use std::collections::BTreeMap;

use machinist_domain::window::{Minute, minute_of};
use machinist_provider::node_groups::GroupRef;

use super::counting::{Leads, News};
use crate::recycler::history::{self, Past};
use crate::recycler::snapshot::Facts;

/// The minutes in which groups were last recycled.
pub(in crate::recycler) struct Spent<'a>(BTreeMap<&'a GroupRef, Option<Minute>>);

impl<'a> Spent<'a> {
    /// Of the groups that something leads to.
    pub(in crate::recycler) fn of(facts: &'a Facts) -> Self {
        let mut groups = BTreeMap::new();
        if facts.status.recycle_history.iter().flatten().next().is_none() {
            return Self(groups);
        }
        for group in facts.reopened.iter().chain(&facts.news).filter_map(group_of) {
            groups.entry(group).or_insert_with(|| {
                history::last(&facts.status, group, false).map(|Past(at)| minute_of(at))
            });
        }
        Self(groups)
    }

    /// Whether it happened before the minute in which its group was last recycled.
    pub(in crate::recycler) fn has(&self, news: &News) -> bool {
        self.ended(news).is_some_and(|ended| news.occurrence.minute < ended)
    }

    /// Whether it happened before, or in that minute: what is counted anew may have been counted then.
    pub(in crate::recycler) fn has_minute_of(&self, news: &News) -> bool {
        self.ended(news).is_some_and(|ended| news.occurrence.minute <= ended)
    }

    fn ended(&self, news: &News) -> Option<Minute> {
        group_of(news).and_then(|group| self.0.get(group).copied().flatten())
    }
}

fn group_of(news: &News) -> Option<&GroupRef> {
    match &news.leads {
        Leads::To(group) => Some(group),
        Leads::Nowhere | Leads::Open(_) => None,
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
    fn another_spec_does_not_count_what_a_recycle_has_used_up() {
        let mut sample = Sample::new(&json!({}))
            .news("a", "p", 4, 6)
            .news("a", "q", 2, 5)
            .news("a", "r", 1, 4)
            .news("b", "s", 3, 6)
            .past("a", "Succeeded", 5);
        sample.facts.counting.mark = Version::default();
        assert_eq!(counts(&sample), [("a".to_owned(), 1), ("b".to_owned(), 3)]);
        // What goes on from a mark was not counted yet, whatever it is.
        sample.facts.counting.mark = Version(10);
        assert_eq!(counts(&sample), [("a".to_owned(), 7), ("b".to_owned(), 3)]);
    }

    #[test]
    fn what_was_only_pretended_has_used_up_nothing() {
        for dry_run in [true, false] {
            let mut sample = Sample::new(&json!({ "dryRun": dry_run }));
            sample = sample.news("a", "p", 4, 6).past("a", "DryRun", 5);
            sample.facts.counting.mark = Version::default();
            assert_eq!(counts(&sample), [("a".to_owned(), 4)]);
        }
    }

    #[test]
    fn what_led_nowhere_until_the_group_was_recycled_does_not_count_for_it() {
        let mut sample = Sample::new(&json!({})).past("a", "Succeeded", 5);
        sample.facts.reopened = vec![news("a", "p", 4, 6), news("a", "q", 2, 5)];
        assert_eq!(counts(&sample), [("a".to_owned(), 2)]);
    }
}
