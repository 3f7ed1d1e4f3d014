//! The cached types of one cloud access, and the next step of its task. Pure: time and random numbers are arguments.
//!
//! A query makes a type `Wanted`; an answer makes it `Known` until it expires. It is refreshed ahead of that if it was
//! queried since, and otherwise removed.
//!
//! Invariants: a known answer is valid until it expires, whatever fails meanwhile; jitter only shortens; a type is
//! returned as changed exactly if a query would now return another answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Failure, Retry};
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::ObservedCapacity;

use super::TypeTimings;

/// The share of the time to live that jitter may take off, so that not all accesses refresh at once.
const JITTER: f64 = 0.1;
/// The share of the time to live after which an answer is refreshed; the rest is for retries.
const REFRESH_AFTER: f64 = 0.8;
/// The upper limit for a Retry-After.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(super) struct TypeCache {
    timings: TypeTimings,
    types: HashMap<Arc<str>, Entry>,
    outage: Option<Outage>,
    /// When the task wakes up by itself.
    alarm: Duration,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// Since the last answer.
    queried: bool,
    queried_at: Duration,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Wanted,
    Known {
        /// `None`: EC2 does not have the type.
        capacity: Option<Capacity>,
        refresh_at: Duration,
        until: Duration,
    },
}

#[derive(Debug)]
struct Outage {
    failure: Failure,
    failures: u32,
    retry_at: Duration,
}

#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) answer: ObservedCapacity,
    /// The answer is cached.
    pub(super) hit: bool,
    /// The task has something to do.
    pub(super) wake: bool,
}

/// The next step of the task.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Fetch(Vec<Arc<str>>),
    WaitUntil(Duration),
    /// No type is left.
    End,
}

impl TypeCache {
    pub(super) fn new(timings: TypeTimings) -> Self {
        Self { timings, types: HashMap::new(), outage: None, alarm: Duration::MAX }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.types.clear();
    }

    /// Returns the cached answer, and makes the type wanted if there is none.
    pub(super) fn look(&mut self, name: &Arc<str>, now: Duration) -> Lookup {
        let mut wake = now >= self.alarm;
        if !self.types.contains_key(name) {
            let entry = Entry { state: State::Wanted, queried: true, queried_at: now };
            self.types.insert(Arc::clone(name), entry);
            wake |= self.outage.is_none();
        }
        let Some(entry) = self.types.get_mut(name) else {
            return Lookup { answer: ObservedCapacity::NotAsked, hit: false, wake };
        };
        entry.queried = true;
        entry.queried_at = now;
        if let State::Known { refresh_at, until, .. } = entry.state {
            wake |= now >= refresh_at && self.outage.is_none();
            if now >= until {
                entry.state = State::Wanted;
            }
        }
        let answer = match (entry.state, &self.outage) {
            (State::Known { capacity: Some(capacity), .. }, _) => {
                ObservedCapacity::Present(capacity)
            }
            (State::Known { capacity: None, .. }, _) => ObservedCapacity::Absent,
            (State::Wanted, Some(outage)) => ObservedCapacity::Unknown(outage.failure.clone()),
            (State::Wanted, None) => ObservedCapacity::NotAsked,
        };
        let hit = matches!(answer, ObservedCapacity::Present(_) | ObservedCapacity::Absent);
        Lookup { answer, hit, wake }
    }

    /// Removes expired answers and types that are not queried any more. Returns the changed types.
    pub(super) fn sweep(&mut self, now: Duration) -> Vec<Arc<str>> {
        let keep = self.timings.keep;
        let in_trouble = self.outage.is_some();
        let mut changed = Vec::new();
        self.types.retain(|name, entry| {
            if now.saturating_sub(entry.queried_at) > keep {
                return false;
            }
            match entry.state {
                State::Known { capacity, until, .. } if now >= until => {
                    entry.state = State::Wanted;
                    let stays = capacity.is_some() && entry.queried;
                    if stays && in_trouble {
                        changed.push(Arc::clone(name));
                    }
                    stays
                }
                _ => true,
            }
        });
        if self.types.is_empty() {
            self.outage = None;
        }
        changed.sort_unstable();
        changed
    }

    /// Call it after [`sweep`](Self::sweep).
    pub(super) fn next(&mut self, now: Duration) -> Next {
        if self.types.is_empty() {
            return Next::End;
        }
        let expiries = self.types.values().filter_map(|entry| match entry.state {
            State::Known { until, .. } => Some(until),
            State::Wanted => None,
        });
        if let Some(outage) = self.outage.as_ref().filter(|outage| now < outage.retry_at) {
            self.alarm = expiries.fold(outage.retry_at, Duration::min);
            return Next::WaitUntil(self.alarm);
        }
        let due = |(name, entry): (&Arc<str>, &Entry)| match entry.state {
            State::Known { refresh_at, .. } if now < refresh_at || !entry.queried => None,
            _ => Some(Arc::clone(name)),
        };
        let mut names: Vec<Arc<str>> = self.types.iter().filter_map(due).collect();
        if !names.is_empty() {
            names.sort_unstable();
            return Next::Fetch(names);
        }
        let refreshes = self.types.values().filter_map(|entry| match entry.state {
            State::Known { refresh_at, .. } if entry.queried => Some(refresh_at),
            _ => None,
        });
        self.alarm = expiries.chain(refreshes).min().unwrap_or(Duration::MAX);
        Next::WaitUntil(self.alarm)
    }

    /// Stores an answer for `asked`; types that are not in `found` are absent. Returns the changed types.
    pub(super) fn answered(
        &mut self,
        asked: &[Arc<str>],
        found: &HashMap<String, Capacity>,
        now: Duration,
        random: f64,
    ) -> Vec<Arc<str>> {
        self.outage = None;
        let keep = self.timings.keep.mul_f64(1.0 - JITTER * random.clamp(0.0, 1.0));
        let absent_until = now + self.timings.keep_absent;
        let mut changed = Vec::new();
        for name in asked {
            let Some(entry) = self.types.get_mut(name) else {
                continue;
            };
            let new = found.get(&**name).copied();
            if !matches!(entry.state, State::Known { capacity, .. } if capacity == new) {
                changed.push(Arc::clone(name));
            }
            entry.state = State::Known {
                capacity: new,
                refresh_at: new.map_or(absent_until, |_| now + keep.mul_f64(REFRESH_AFTER)),
                until: new.map_or(absent_until, |_| now + keep),
            };
            entry.queried = false;
        }
        changed
    }

    /// Stores a failure. Returns the types without an answer, if the category changed.
    pub(super) fn failed(&mut self, failure: Failure, now: Duration, random: f64) -> Vec<Arc<str>> {
        let before = self.outage.take();
        let failures = before.as_ref().map_or(0, |outage| outage.failures).saturating_add(1);
        let backoff = self.timings.retry.delay(failures, random);
        let delay = match failure.retry {
            Retry::OnChange => self.timings.keep_absent,
            // Never retry faster than the backoff, nor later than the limit.
            Retry::After(delay) | Retry::Again(delay) => delay.max(backoff),
            Retry::Backoff | Retry::Soon => backoff,
        };
        let retry_at = now.saturating_add(delay.min(LONGEST_DELAY));
        let is_news = before.is_none_or(|outage| outage.failure.category != failure.category);
        self.outage = Some(Outage { failure, failures, retry_at });
        if !is_news {
            return Vec::new();
        }
        let wanted = |(name, entry): (&Arc<str>, &Entry)| {
            matches!(entry.state, State::Wanted).then(|| Arc::clone(name))
        };
        let mut changed: Vec<Arc<str>> = self.types.iter().filter_map(wanted).collect();
        changed.sort_unstable();
        changed
    }
}

#[cfg(test)]
mod tests;
