//! The stored counts of one EventRecycler: every occurrence up to the mark is counted or open, and no other one is.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::event_recycler::spec::CountBy;
use machinist_api::event_recycler::status;
use machinist_domain::key::Version;
use machinist_provider::node_groups::GroupRef;

use super::occurrence::{Occurrence, subject_of_node};
use super::window::{self, Tally};
use crate::kinds::EventRecycler;
use crate::recycler::naming::Names;
use crate::recycler::settings::Settings;

/// The stored format. Counts of an unknown format are ignored.
const FORMAT: i64 = 2;

/// The most occurrences without a group; the oldest are dropped first.
pub(crate) const MOST_OPEN: usize = 256;

/// The most text of open occurrences, in bytes: an object may have a megabyte and a half.
const MOST_OPEN_TEXT: usize = 128 * 1024;

/// The most text of the counts of all groups, in bytes. Groups with the lowest counts are dropped first.
pub(crate) const MOST_COUNTED_TEXT: usize = 512 * 1024;

const BETWEEN: usize = 8;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counting {
    /// Events up to this version are counted.
    pub mark: Version,
    pub groups: BTreeMap<GroupRef, Tally>,
    /// Occurrences without a group.
    pub open: Vec<Occurrence>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    pub occurrence: Occurrence,
    pub node: Option<Arc<str>>,
    pub target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Group(GroupRef),
    /// None that may be recycled.
    Ignored,
    Unresolved(String),
}

impl Located {
    pub(crate) fn group(&self) -> Option<&GroupRef> {
        match &self.target {
            Target::Group(group) => Some(group),
            Target::Ignored | Target::Unresolved(_) => None,
        }
    }
}

impl Counting {
    /// The stored counts, if they belong to the present generation.
    pub fn of(recycler: &EventRecycler) -> Self {
        let status = &recycler.status;
        let is_current = status.observed_generation == Some(recycler.generation);
        Self::read(status.counting.as_ref().filter(|_| is_current))
    }

    /// Reads the stored counts. Without valid ones, all events of the window are counted again.
    pub(crate) fn read(stored: Option<&status::Counting>) -> Self {
        let Some(stored) = stored.filter(|stored| stored.format == FORMAT) else {
            return Self::default();
        };
        let groups = stored.groups.iter().flatten().filter_map(|(key, text)| {
            let (region, tally) = text.split_once(' ')?;
            // Names have no colon.
            let name = key.rsplit_once(':').map_or(key.as_str(), |(_, name)| name);
            Some((GroupRef::new(region, name), Tally::read(tally)?))
        });
        let open = stored.open.iter().flatten().filter_map(|text| Occurrence::read(text));
        Self { mark: Version::parse(&stored.mark), groups: groups.collect(), open: open.collect() }
    }

    pub fn write(&self) -> status::Counting {
        let names = Names::among(self.groups.keys());
        let groups = self.groups.iter().map(|(GroupRef { region, name }, tally)| {
            let shared = names.is_shared(name);
            let key = if shared { format!("{region}:{name}") } else { name.to_string() };
            (key, format!("{region} {tally}"))
        });
        let open = self.open.iter().map(ToString::to_string).collect::<Vec<_>>();
        status::Counting {
            format: FORMAT,
            mark: self.mark.to_string(),
            groups: Some(groups.collect::<BTreeMap<_, _>>()).filter(|groups| !groups.is_empty()),
            open: Some(open).filter(|open| !open.is_empty()),
        }
    }

    pub(crate) fn take<'a>(
        &mut self,
        news: impl IntoIterator<Item = &'a Located>,
        settings: &Settings,
        now: Timestamp,
    ) {
        for Located { occurrence, node, target } in news {
            if !settings.window.has(settings.window.bucket(occurrence.minute), now) {
                continue;
            }
            match target {
                Target::Ignored => {}
                Target::Unresolved(_) => self.leave_open(occurrence),
                Target::Group(group) => {
                    let subject = match (settings.count_by, node) {
                        (CountBy::Nodes, Some(node)) => subject_of_node(node),
                        _ => occurrence.subject(),
                    };
                    let (minute, times) = (occurrence.minute, occurrence.times);
                    let tally = self.groups.entry(group.clone()).or_default();
                    tally.add(settings.window, minute, times, subject, settings.per_object);
                }
            }
        }
        self.expire(settings, now);
    }

    pub(crate) fn counts(&self, settings: &Settings, now: Timestamp) -> BTreeMap<GroupRef, u64> {
        let count = |tally: &Tally| tally.count(settings.window, now);
        let counts = self.groups.iter().map(|(group, tally)| (group.clone(), count(tally)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    pub(crate) fn unmapped(&self) -> u64 {
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
        for tally in self.groups.values_mut() {
            tally.expire(window, now);
        }
        self.groups.retain(|_, tally| !tally.is_empty());
        // The region is stored before the name and before the counts.
        let besides = |group: &GroupRef| 2 * group.region.len() + group.name.0.len() + BETWEEN;
        let count = |tally: &Tally| tally.count(window, now);
        window::bound(&mut self.groups, MOST_COUNTED_TEXT, besides, count);
        self.open.retain(|one| window.has(window.bucket(one.minute), now));
        self.open.sort_by_key(|one| one.minute);
        let mut text = 0;
        let fits = self.open.iter().rev().take(MOST_OPEN).take_while(|one| {
            text += one.to_string().len();
            text <= MOST_OPEN_TEXT
        });
        let too_much = self.open.len() - fits.count();
        self.open.drain(..too_much);
    }
}

#[cfg(test)]
mod tests {
    use crate::recycler::detection::window::minute_of;
    use serde_json::json;

    use super::*;
    use crate::kinds::Involved;

    #[test]
    fn groups_are_stored_by_name_and_with_the_region_where_names_are_equal() {
        let group = |region: &str, times| {
            let mut tally = Tally::default();
            let window = window::Window::new(std::time::Duration::from_secs(60));
            tally.add(window, 1, times, 0xab, 10);
            (GroupRef::new(region, "workers"), tally)
        };
        let one = Counting { groups: [group("eu-west-3", 2)].into(), ..Counting::default() };
        let stored = one.write();
        assert_eq!(json!(stored.groups), json!({"workers": "eu-west-3 1:ab*2"}));
        assert_eq!(Counting::read(Some(&stored)), one);
        let groups = [group("eu-west-3", 2), group("us-east-1", 3)].into();
        let two = Counting { groups, ..one };
        let stored = two.write();
        assert_eq!(
            json!(stored.groups),
            json!({
                "eu-west-3:workers": "eu-west-3 1:ab*2", "us-east-1:workers": "us-east-1 1:ab*3",
            })
        );
        assert_eq!(Counting::read(Some(&stored)), two);
    }

    #[test]
    fn counts_are_bounded_and_the_groups_with_the_most_stay() {
        let spec = json!({"searchTerms": ["bad"], "countBy": "Pods"});
        let settings = Settings::read(Some(&serde_json::from_value(spec).unwrap())).unwrap();
        let now: Timestamp = "2026-11-16T02:00:00Z".parse().unwrap();
        let group = |number: usize| GroupRef::new("eu-west-3", format!("{number:0>255}"));
        let pods = |number: usize| {
            (0..700 + number).map(move |pod| {
                let name = format!("{number}-{pod}").into();
                let involved = Involved::Pod { namespace: "n".into(), name, uid: None };
                let minute = minute_of(now) - i64::from(pod % 10 == 0);
                let occurrence = Occurrence { minute, times: 1, involved, host: None };
                Located { occurrence, node: None, target: Target::Group(group(number)) }
            })
        };
        let mut counting = Counting::default();
        for number in 0..90 {
            counting.take(&pods(number).collect::<Vec<_>>(), &settings, now);
        }
        let stored = counting.write();
        let text = json!(stored.groups).to_string().len();
        assert!(text <= MOST_COUNTED_TEXT && text > MOST_COUNTED_TEXT / 2, "{text}");
        let counts = counting.counts(&settings, now);
        assert_eq!((counts.get(&group(0)), counts.get(&group(89))), (None, Some(&789)));
        assert_eq!(Counting::read(Some(&stored)), counting);
    }

    #[test]
    fn open_occurrences_are_bounded_and_the_newest_stay() {
        let spec = json!({"searchTerms": ["bad"], "window": "1h"});
        let settings = Settings::read(Some(&serde_json::from_value(spec).unwrap())).unwrap();
        let now: Timestamp = "2026-11-16T02:00:00Z".parse().unwrap();
        let of = |number: usize| {
            let name = format!("{number:0>253}").into();
            let involved = Involved::Pod { namespace: "n".repeat(253).into(), name, uid: None };
            let minute = minute_of(now) - i64::from(number < 400);
            let host = Some("h".repeat(253).into());
            let occurrence = Occurrence { minute, times: 1, involved, host };
            Located { occurrence, node: None, target: Target::Unresolved(String::new()) }
        };
        let news: Vec<_> = (0..500).map(of).collect();
        let mut counting = Counting::default();
        counting.take(&news, &settings, now);
        let text: usize = counting.open.iter().map(|one| one.to_string().len()).sum();
        assert!(text <= MOST_OPEN_TEXT && counting.open.len() > 100, "{text}");
        assert!(news[400..].iter().all(|one| counting.open.contains(&one.occurrence)));
    }
}
