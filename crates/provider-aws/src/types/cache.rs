//! The cached types of one cloud access, and the next step of its task. Pure: time and random numbers are arguments.
//!
//! An answer is refreshed ahead of its expiry if the type was queried since. It is valid until it expires, whatever
//! fails meanwhile. A type is returned as changed exactly if a query would now return another answer.
//!
//! Not a `BatchCache` of `runtime`: that fetches on a query only and caches a failure like an answer, while this one
//! refreshes by itself, keeps answers through an outage and retries; and a provider does not depend on `runtime`.

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
const LONGEST_DELAY: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(super) struct TypeCache {
    timings: TypeTimings,
    pub(super) types: HashMap<Arc<str>, Entry>,
    outage: Option<Outage>,
    alarm: Duration,
}

#[derive(Debug)]
pub(super) struct Entry {
    known: Option<Known>,
    /// Since the last answer.
    queried: bool,
    queried_at: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// `None`: EC2 does not have the type.
    capacity: Option<Capacity>,
    refresh_at: Duration,
    until: Duration,
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
    pub(super) wake: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Fetch(Vec<Arc<str>>),
    WaitUntil(Duration),
    End,
}

impl TypeCache {
    pub(super) fn new(timings: TypeTimings) -> Self {
        Self { timings, types: HashMap::new(), outage: None, alarm: Duration::MAX }
    }

    pub(super) fn look(&mut self, name: &Arc<str>, now: Duration) -> Lookup {
        let in_trouble = self.outage.is_some();
        let mut wake = now >= self.alarm;
        let entry = self.types.entry(Arc::clone(name)).or_insert_with(|| {
            wake |= !in_trouble;
            Entry { known: None, queried: true, queried_at: now }
        });
        entry.queried = true;
        entry.queried_at = now;
        wake |= entry.known.is_some_and(|known| now >= known.refresh_at) && !in_trouble;
        entry.known = entry.known.filter(|known| now < known.until);
        let answer = match (entry.known, &self.outage) {
            (Some(known), _) => Ok(known.capacity).into(),
            (None, Some(outage)) => ObservedCapacity::Unknown(outage.failure.clone()),
            (None, None) => ObservedCapacity::NotAsked,
        };
        Lookup { answer, wake }
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
            let Some(expired) = entry.known.take_if(|known| now >= known.until) else {
                return true;
            };
            let stays = expired.capacity.is_some() && entry.queried;
            if stays && in_trouble {
                changed.push(Arc::clone(name));
            }
            stays
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
        let known = self.types.values().filter_map(|entry| entry.known);
        let expiries = known.map(|known| known.until);
        if let Some(outage) = self.outage.as_ref().filter(|outage| now < outage.retry_at) {
            self.alarm = expiries.fold(outage.retry_at, Duration::min);
            return Next::WaitUntil(self.alarm);
        }
        let names = self.names(|entry| {
            entry.known.is_none_or(|known| entry.queried && now >= known.refresh_at)
        });
        if !names.is_empty() {
            return Next::Fetch(names);
        }
        let queried = self.types.values().filter(|entry| entry.queried);
        let refreshes = queried.filter_map(|entry| entry.known).map(|known| known.refresh_at);
        self.alarm = expiries.chain(refreshes).min().unwrap_or(Duration::MAX);
        Next::WaitUntil(self.alarm)
    }

    fn names(&self, fits: impl Fn(&Entry) -> bool) -> Vec<Arc<str>> {
        let fitting = self.types.iter().filter(|(_, entry)| fits(entry));
        let mut names: Vec<_> = fitting.map(|(name, _)| Arc::clone(name)).collect();
        names.sort_unstable();
        names
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
        let keep_absent = self.timings.keep_absent;
        let mut changed = Vec::new();
        for name in asked {
            let Some(entry) = self.types.get_mut(name) else { continue };
            let new = found.get(&**name).copied();
            if entry.known.is_none_or(|known| known.capacity != new) {
                changed.push(Arc::clone(name));
            }
            let (refresh, valid) = match new {
                Some(_) => (keep.mul_f64(REFRESH_AFTER), keep),
                None => (keep_absent, keep_absent),
            };
            entry.known =
                Some(Known { capacity: new, refresh_at: now + refresh, until: now + valid });
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
        if is_news { self.names(|entry| entry.known.is_none()) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
