//! The mark: the plan of a recycle as a short text in the tags of its group, so that the recycle can be resumed from
//! the group alone. Every step detects by itself how far the group is, so the mark has no step and changes only with
//! the sizes. A mark of an unknown version belongs to another recycle.

use std::fmt::Write as _;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{
    InstanceState, Recycle, RecycledInstance, Sizes, Step,
};
use machinist_api::event_recycler::spec::Strategy;
use machinist_provider::node_groups::mark::fits;

use super::messages;

const VERSION: &str = "v1";
const BEFORE: &str = "before=";

/// The prefix of owners that are EventRecyclers.
const RECYCLER: &str = "recycler/";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub(crate) id: String,
    /// Its owner: `recycler/NAME`, or `by-hand/USER@HOST`.
    pub owner: String,
    pub(crate) strategy: Strategy,
    pub(crate) original: Sizes,
    pub started: Timestamp,
    /// The last instance refresh before it.
    pub(crate) refresh_before: Option<String>,
    /// The instances that are to go, as many as there was room for.
    pub(crate) instances: Vec<String>,
}

pub(crate) fn owner_of(recycler: &str) -> String {
    format!("{RECYCLER}{recycler}")
}

/// The mark of a recycle. Instances beyond the size limit are left out, and are not replaced after a resume.
pub(crate) fn write(recycle: &Recycle, owner: &str) -> String {
    let Recycle { id, strategy, original: Sizes { min, max, desired }, started, .. } = recycle;
    let strategy = strategy.as_str();
    let mut text = format!("{VERSION} {id} {owner} {strategy} {min}/{max}/{desired} {started}");
    if let Some(before) = &recycle.refresh_before {
        let _infallible = write!(text, " {BEFORE}{before}");
    }
    for instance in &recycle.instances {
        let longer = format!("{text} {}", instance.id);
        if !fits(&longer) {
            break;
        }
        text = longer;
    }
    text
}

impl Mark {
    /// Reads a text; `None` where it is none of ours, or newer than we are.
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next()? != VERSION {
            return None;
        }
        let (id, owner) = (words.next()?.to_owned(), words.next()?.to_owned());
        let strategy = serde_json::from_value(words.next()?.into()).ok()?;
        let mut sizes = words.next()?.split('/').map(|size| size.parse().ok());
        let mut size = || sizes.next().flatten();
        let original = Sizes { min: size()?, max: size()?, desired: size()? };
        let started = words.next()?.parse().ok()?;
        let mut words = words.peekable();
        let before = words.next_if(|word| word.starts_with(BEFORE));
        let refresh_before = before.and_then(|word| word.strip_prefix(BEFORE)).map(str::to_owned);
        let instances = words.map(str::to_owned).collect();
        Some(Self { id, owner, strategy, original, started, refresh_before, instances })
    }

    pub(crate) fn is_of_a_recycler(&self) -> bool {
        self.owner.starts_with(RECYCLER)
    }

    /// The recycle that it was written for, from the beginning.
    pub fn resume(&self, region: &str, group: &str, events: i64, now: Timestamp) -> Recycle {
        let instance = |id: &String| RecycledInstance {
            id: id.clone(),
            node: None,
            state: InstanceState::Waiting,
            since: None,
        };
        Recycle {
            id: self.id.clone(),
            group: group.to_owned(),
            region: region.to_owned(),
            strategy: self.strategy,
            step: Step::Planned,
            original: self.original,
            instances: self.instances.iter().map(instance).collect(),
            refresh_before: self.refresh_before.clone(),
            started: self.started,
            step_since: now,
            // By the process whose recycle this was.
            called_until: Some(now),
            events,
            failure: None,
            message: Some(messages::RESUMED.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::recycle;
    use super::*;

    #[test]
    fn a_recycle_is_resumed_from_its_mark() {
        for strategy in [Strategy::Replace, Strategy::InstanceRefresh, Strategy::ScaleToZero] {
            for before in [None, Some("r-1".to_owned())] {
                let mut stored = recycle(strategy, &["i-1", "i-2"]);
                stored.refresh_before = before;
                let text = write(&stored, &owner_of("bad-nodes"));
                assert!(fits(&text), "{text}");
                let mark = Mark::read(&text).unwrap();
                assert!(mark.is_of_a_recycler());
                let resumed = mark.resume("r", "workers", stored.events, stored.step_since);
                assert_eq!(resumed.called_until, Some(stored.step_since));
                assert_eq!(Recycle { message: None, called_until: None, ..resumed }, stored);
            }
        }
    }

    #[test]
    fn a_mark_is_cut_to_its_limit_and_an_unknown_one_is_not_read() {
        let ids: Vec<_> = (0..300).map(|n| format!("i-0123456789abcd{n:03}")).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        let text = write(&recycle(Strategy::Replace, &ids), "recycler/x");
        let kept = Mark::read(&text).unwrap().instances.len();
        assert!(fits(&text) && kept > 90 && kept < 300, "{kept}");
        for text in ["", "v2 a b Replace 1/2/3 2026-01-01T00:00:00Z", "v1 a b Replace 1/2", "yes"] {
            assert_eq!(Mark::read(text), None, "{text:?}");
        }
    }
}
