//! The history of recycles in the status: the newest last, bounded, and kept while a cool-down depends on it.

use jiff::{SignedDuration, Timestamp};
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_api::event_recycler::status::PastRecycle;
use machinist_domain::conditions::whole_seconds;
use machinist_provider::node_groups::GroupRef;

use super::plan::Candidate;

const MOST: usize = 20;
const MOST_COOLING: usize = 100;

const DRY_RUN: &str = "DryRun";

/// When a group was last recycled. Entries of `dryRun` count only in `dryRun`.
pub(super) fn last(
    status: &EventRecyclerStatus,
    group: &GroupRef,
    pretended: bool,
) -> Option<Timestamp> {
    // Old entries have no region and match every group of the name.
    let is_about = |entry: &&PastRecycle| {
        entry.region.as_deref().is_none_or(|region| *region == *group.region)
            && entry.node_group.as_deref() == Some(&*group.name.0)
    };
    let entries = status.recycle_history.iter().flatten().filter(is_about);
    entries.filter(|entry| pretended || was_done(entry)).filter_map(ended).max()
}

pub(super) fn was_done(entry: &PastRecycle) -> bool {
    entry.status.as_deref() != Some(DRY_RUN)
}

pub(super) fn ended(entry: &PastRecycle) -> Option<Timestamp> {
    entry.timestamp.as_deref()?.parse().ok()
}

pub(super) fn entry(recycle: &Recycle, now: Timestamp) -> PastRecycle {
    PastRecycle {
        node_group: Some(recycle.group.clone()),
        region: Some(recycle.region.clone()),
        timestamp: Some(whole_seconds(now).to_string()),
        event_count: Some(recycle.events),
        status: Some(recycle.step.as_str().to_owned()),
        message: recycle.message.clone().filter(|_| recycle.step == Step::Failed),
        started: Some(whole_seconds(recycle.started).to_string()),
    }
}

pub(super) fn pretended(candidate: &Candidate, now: Timestamp) -> PastRecycle {
    PastRecycle {
        node_group: Some(candidate.group.name.to_string()),
        region: Some(candidate.group.region.to_string()),
        timestamp: Some(whole_seconds(now).to_string()),
        event_count: i64::try_from(candidate.events).ok(),
        status: Some(DRY_RUN.to_owned()),
        ..PastRecycle::default()
    }
}

/// Drops surplus entries: the oldest first, and those that a cool-down depends on last.
pub(super) fn bound(history: &mut Vec<PastRecycle>, cool_down: SignedDuration, now: Timestamp) {
    let cools = |entry: &PastRecycle| {
        ended(entry).is_some_and(|at| at.saturating_add(cool_down).is_ok_and(|until| until > now))
    };
    let mut too_many = history.len().saturating_sub(MOST);
    history.retain(|entry| {
        let goes = too_many > 0 && !cools(entry);
        too_many -= usize::from(goes);
        !goes
    });
    history.drain(..history.len().saturating_sub(MOST_COOLING));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(group: usize, at: i64) -> PastRecycle {
        let timestamp = Timestamp::from_second(at).unwrap().to_string();
        PastRecycle {
            node_group: Some(group.to_string()),
            timestamp: Some(timestamp),
            ..PastRecycle::default()
        }
    }

    #[test]
    fn groups_of_two_regions_with_one_name_differ() {
        let mut past = PastRecycle { region: Some("r1".to_owned()), ..entry(1, 5) };
        let status = |past: &PastRecycle| EventRecyclerStatus {
            recycle_history: Some(vec![past.clone()]),
            ..EventRecyclerStatus::default()
        };
        let last = |past: &PastRecycle, region: &str, name: &str| {
            last(&status(past), &GroupRef::new(region, name), false).is_some()
        };
        assert!(last(&past, "r1", "1") && !last(&past, "r2", "1") && !last(&past, "r1", "2"));
        past.region = None;
        assert!(last(&past, "r1", "1") && last(&past, "r2", "1"), "the region is not stored");
    }

    #[test]
    fn history_is_bounded_and_kept_during_a_cool_down() {
        let cool_down = SignedDuration::from_secs(100);
        let now = Timestamp::from_second(1000).unwrap();
        let mut history: Vec<_> = (0..30).map(|number| entry(number, 0)).collect();
        bound(&mut history, cool_down, now);
        assert_eq!(history.len(), MOST);
        assert_eq!(history[0].node_group.as_deref(), Some("10"));
        history.splice(0..0, (100..130).map(|number| entry(number, 950)));
        bound(&mut history, cool_down, now);
        assert_eq!(history.len(), 30);
        history.extend((0..200).map(|number| entry(number, 999)));
        bound(&mut history, cool_down, now);
        assert_eq!(history.len(), MOST_COOLING);
    }
}
