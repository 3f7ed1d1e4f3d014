//! What was counted for one EventRecycler, as it is stored in its status; pure.
//!
//! Mark and counts are true of the same moment: what happened up to the mark is in the counts or among what is open, and nothing else is. What is
//! stored is bounded: groups by those that have something in the window, buckets by the window, what is open by [`MOST_OPEN`].

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::event_recycler::spec::CountBy;
use machinist_api::event_recycler::status;
use machinist_domain::key::Version;
use machinist_domain::window::{self, Tally};

use super::occurrence::{Occurrence, subject_of_node};
use crate::recycler::settings::Settings;

/// How what follows is written. Whoever does not know it begins anew.
const FORMAT: i64 = 1;

/// How many occurrences without a group are kept; the oldest go first.
pub const MOST_OPEN: usize = 256;

/// How much text they may come to, in bytes: an object as a whole may have a megabyte and a half.
const MOST_OPEN_TEXT: usize = 128 * 1024;

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counting {
    /// Events up to this version are counted.
    pub mark: Version,
    /// What was counted for each group.
    pub groups: BTreeMap<Arc<str>, GroupCount>,
    /// What leads to no group yet.
    pub open: Vec<Occurrence>,
}

/// What was counted for one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCount {
    /// Where the group is.
    pub region: Arc<str>,
    /// How many, when.
    pub tally: Tally,
}

/// Something that happened, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// What happened.
    pub occurrence: Occurrence,
    /// The node, if it is known.
    pub node: Option<Arc<str>>,
    /// To which group.
    pub leads: Leads,
}

/// Where something that happened leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leads {
    /// To this group.
    To {
        /// Its name.
        group: Arc<str>,
        /// Where it is.
        region: Arc<str>,
    },
    /// To none that may be recycled.
    Nowhere,
    /// That is not known yet, because of this.
    Open(String),
}

impl Counting {
    /// Reads what is stored. What cannot be read is as good as nothing: then the events of the window count.
    pub fn read(stored: Option<&status::Counting>) -> Self {
        let Some(stored) = stored.filter(|stored| stored.format == FORMAT) else {
            return Self::default();
        };
        let groups = stored.groups.iter().flatten().filter_map(|(name, text)| {
            let (region, tally) = text.split_once(' ')?;
            let count = GroupCount { region: region.into(), tally: tally.parse().ok()? };
            Some((Arc::from(name.as_str()), count))
        });
        let open = stored.open.iter().flatten().filter_map(|text| text.parse().ok());
        Self { mark: Version::parse(&stored.mark), groups: groups.collect(), open: open.collect() }
    }

    /// What is to be stored.
    pub fn write(&self) -> status::Counting {
        let groups = self
            .groups
            .iter()
            .map(|(name, count)| (name.to_string(), format!("{} {}", count.region, count.tally)));
        let open = self.open.iter().map(ToString::to_string).collect::<Vec<_>>();
        status::Counting {
            format: FORMAT,
            mark: self.mark.to_string(),
            groups: Some(groups.collect::<BTreeMap<_, _>>()).filter(|groups| !groups.is_empty()),
            open: Some(open).filter(|open| !open.is_empty()),
        }
    }

    /// Counts what happened; all of it is in the counts, or open, or of no concern afterwards.
    pub fn take(&mut self, news: &[News], settings: &Settings, now: Timestamp) {
        for News { occurrence, node, leads } in news {
            if !settings.window.has(settings.window.bucket(occurrence.minute), now) {
                continue;
            }
            match leads {
                Leads::Nowhere => {}
                Leads::Open(_) => self.leave_open(occurrence),
                Leads::To { group, region } => {
                    let subject = match settings.count_by {
                        CountBy::Events => None,
                        CountBy::Pods => Some(occurrence.subject()),
                        CountBy::Nodes => node.as_deref().map(subject_of_node),
                    };
                    let count = self.groups.entry(Arc::clone(group)).or_insert_with(|| {
                        GroupCount { region: Arc::clone(region), tally: Tally::default() }
                    });
                    let times = u64::from(occurrence.times);
                    count.tally.add(settings.window, occurrence.minute, times, subject);
                }
            }
        }
        self.expire(settings, now);
    }

    /// How many count now, for each group that has any.
    pub fn counts(&self, settings: &Settings, now: Timestamp) -> BTreeMap<Arc<str>, u64> {
        let by = match settings.count_by {
            CountBy::Events => window::CountBy::Occurrences,
            CountBy::Pods | CountBy::Nodes => window::CountBy::Subjects,
        };
        let counts = self
            .groups
            .iter()
            .map(|(name, count)| (Arc::clone(name), count.tally.count(settings.window, by, now)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Forgets what was counted for a group: it is another one from now on.
    pub fn forget(&mut self, group: &str) {
        self.groups.remove(group);
    }

    /// How many occurrences are open.
    pub fn unmapped(&self) -> u64 {
        self.open.iter().map(|one| u64::from(one.times)).sum()
    }

    fn leave_open(&mut self, occurrence: &Occurrence) {
        match self.open.iter_mut().find(|one| one.is_same(occurrence)) {
            Some(one) => one.times = one.times.saturating_add(occurrence.times),
            None => self.open.push(occurrence.clone()),
        }
    }

    fn expire(&mut self, settings: &Settings, now: Timestamp) {
        let window = settings.window;
        for count in self.groups.values_mut() {
            count.tally.expire(window, now);
        }
        self.groups.retain(|_, count| !count.tally.is_empty());
        self.open.retain(|one| window.has(window.bucket(one.minute), now));
        self.open.sort_by_key(|one| one.minute);
        let too_many = self.open.len().saturating_sub(MOST_OPEN);
        self.open.drain(..too_many);
        let mut text = 0;
        let fits = self.open.iter().rev().take_while(|one| {
            text += one.to_string().len();
            text <= MOST_OPEN_TEXT
        });
        let too_much = self.open.len() - fits.count();
        self.open.drain(..too_much);
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::window::minute_of;
    use serde_json::json;

    use super::*;
    use crate::kinds::Whom;

    #[test]
    fn what_is_open_stays_small_and_the_newest_stay() {
        let spec = json!({"searchTerms": ["bad"], "window": "1h"});
        let settings = Settings::read(Some(&serde_json::from_value(spec).unwrap())).unwrap();
        let now: Timestamp = "2026-11-16T02:00:00Z".parse().unwrap();
        let of = |number: usize| {
            let name = format!("{number:0>253}").into();
            let whom = Whom::Pod { namespace: "n".repeat(253).into(), name, uid: None };
            let minute = minute_of(now) - i64::from(number < 400);
            let host = Some("h".repeat(253).into());
            let occurrence = Occurrence { minute, times: 1, whom, host };
            News { occurrence, node: None, leads: Leads::Open(String::new()) }
        };
        let news: Vec<_> = (0..500).map(of).collect();
        let mut counting = Counting::default();
        counting.take(&news, &settings, now);
        let text: usize = counting.open.iter().map(|one| one.to_string().len()).sum();
        assert!(text <= MOST_OPEN_TEXT && counting.open.len() > 100, "{text}");
        assert!(news[400..].iter().all(|one| counting.open.contains(&one.occurrence)));
    }
}
