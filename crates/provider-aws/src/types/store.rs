//! What is known of the types of one realm, and what is to be done next. Pure: time and chance are arguments.
//!
//! ```text
//!            look                 answered                    keep is over, looked at
//! (nothing) ──────> wanted ─────────────────────> known ───────────────────────────────> wanted
//!                     │  ▲                          │ keep is over, not looked at; or absent
//!                     └──┘ failed: trouble          └──────────────────────────────────> (nothing)
//! ```
//!
//! Invariants: a known answer is given until its time is over, whatever fails meanwhile; jitter only shortens; the types that are returned as
//! changed are those of which a look would now say something else than it did before, and no others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Failure, Retry};
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::Answer;

use super::TypeTimings;

/// How much of an answer's time may be taken off by chance, so that realms do not all refresh at once.
const JITTER: f64 = 0.1;
/// After this part of an answer's time it is refreshed: what is left is for retries.
const REFRESH_AFTER: f64 = 0.8;
/// Nobody can send us away for longer than this.
const LONGEST_DELAY: Duration = Duration::from_hours(1);

/// What is known of one realm.
#[derive(Debug)]
pub(super) struct Memory {
    timings: TypeTimings,
    types: HashMap<Arc<str>, Entry>,
    trouble: Option<Trouble>,
    /// When the asker means to wake up by itself.
    alarm: Duration,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// Since the last answer.
    looked: bool,
    looked_at: Duration,
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
struct Trouble {
    failure: Failure,
    failures: u32,
    retry_at: Duration,
}

/// What a look found.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) answer: Answer,
    /// The answer is EC2's.
    pub(super) hit: bool,
    /// The asker has something to do.
    pub(super) wake: bool,
}

/// What the asker is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask about these.
    Ask(Vec<Arc<str>>),
    /// Nothing before this time.
    WaitUntil(Duration),
    /// Nothing at all, ever: no type is left.
    End,
}

impl Memory {
    pub(super) fn new(timings: TypeTimings) -> Self {
        Self { timings, types: HashMap::new(), trouble: None, alarm: Duration::MAX }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.types.clear();
    }

    /// What is known of a type; from now on it is wanted, if it is not known.
    pub(super) fn look(&mut self, name: &Arc<str>, now: Duration) -> Look {
        let mut wake = now >= self.alarm;
        if !self.types.contains_key(name) {
            let entry = Entry { state: State::Wanted, looked: true, looked_at: now };
            self.types.insert(Arc::clone(name), entry);
            wake |= self.trouble.is_none();
        }
        let Some(entry) = self.types.get_mut(name) else {
            return Look { answer: Answer::NotAsked, hit: false, wake };
        };
        entry.looked = true;
        entry.looked_at = now;
        if let State::Known { refresh_at, until, .. } = entry.state {
            wake |= now >= refresh_at && self.trouble.is_none();
            if now >= until {
                entry.state = State::Wanted;
            }
        }
        let answer = match (entry.state, &self.trouble) {
            (State::Known { capacity: Some(capacity), .. }, _) => Answer::Present(capacity),
            (State::Known { capacity: None, .. }, _) => Answer::Absent,
            (State::Wanted, Some(trouble)) => Answer::Unknown(trouble.failure.clone()),
            (State::Wanted, None) => Answer::NotAsked,
        };
        let hit = matches!(answer, Answer::Present(_) | Answer::Absent);
        Look { answer, hit, wake }
    }

    /// Lets go of answers whose time is over, and of types that nobody looks at any more. Returns the changed types.
    pub(super) fn sweep(&mut self, now: Duration) -> Vec<Arc<str>> {
        let keep = self.timings.keep;
        let in_trouble = self.trouble.is_some();
        let mut changed = Vec::new();
        self.types.retain(|name, entry| {
            if now.saturating_sub(entry.looked_at) > keep {
                return false;
            }
            match entry.state {
                State::Known { capacity, until, .. } if now >= until => {
                    entry.state = State::Wanted;
                    let stays = capacity.is_some() && entry.looked;
                    if stays && in_trouble {
                        changed.push(Arc::clone(name));
                    }
                    stays
                }
                _ => true,
            }
        });
        if self.types.is_empty() {
            self.trouble = None;
        }
        changed.sort_unstable();
        changed
    }

    /// What is to be done next, after a sweep.
    pub(super) fn next(&mut self, now: Duration) -> Next {
        if self.types.is_empty() {
            return Next::End;
        }
        let expiries = self.types.values().filter_map(|entry| match entry.state {
            State::Known { until, .. } => Some(until),
            State::Wanted => None,
        });
        if let Some(trouble) = self.trouble.as_ref().filter(|trouble| now < trouble.retry_at) {
            self.alarm = expiries.fold(trouble.retry_at, Duration::min);
            return Next::WaitUntil(self.alarm);
        }
        let due = |(name, entry): (&Arc<str>, &Entry)| match entry.state {
            State::Known { refresh_at, .. } if now < refresh_at || !entry.looked => None,
            _ => Some(Arc::clone(name)),
        };
        let mut names: Vec<Arc<str>> = self.types.iter().filter_map(due).collect();
        if !names.is_empty() {
            names.sort_unstable();
            return Next::Ask(names);
        }
        let refreshes = self.types.values().filter_map(|entry| match entry.state {
            State::Known { refresh_at, .. } if entry.looked => Some(refresh_at),
            _ => None,
        });
        self.alarm = expiries.chain(refreshes).min().unwrap_or(Duration::MAX);
        Next::WaitUntil(self.alarm)
    }

    /// EC2 answered about `asked`; what is not in `found` it does not have. Returns the changed types.
    pub(super) fn answered(
        &mut self,
        asked: &[Arc<str>],
        found: &HashMap<String, Capacity>,
        now: Duration,
        random: f64,
    ) -> Vec<Arc<str>> {
        self.trouble = None;
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
            entry.looked = false;
        }
        changed
    }

    /// EC2 could not be asked. Returns the types of which nothing is known, if that is news.
    pub(super) fn failed(&mut self, failure: Failure, now: Duration, random: f64) -> Vec<Arc<str>> {
        let before = self.trouble.take();
        let failures = before.as_ref().map_or(0, |trouble| trouble.failures).saturating_add(1);
        let delay = match failure.retry {
            Retry::OnChange => self.timings.keep_absent,
            // Somebody who says "at once", or "next year", is not obeyed to the letter.
            Retry::After(delay) | Retry::Again(delay) => delay.max(self.backoff(failures, random)),
            Retry::Backoff | Retry::Soon => self.backoff(failures, random),
        };
        let retry_at = now.saturating_add(delay.min(LONGEST_DELAY));
        let is_news = before.is_none_or(|trouble| trouble.failure.category != failure.category);
        self.trouble = Some(Trouble { failure, failures, retry_at });
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

    /// Doubles from the base up to the maximum; chance takes off up to a half.
    fn backoff(&self, failures: u32, random: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(30);
        let full = self.timings.retry_base.saturating_mul(1 << doublings);
        full.min(self.timings.retry_max).mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests;
