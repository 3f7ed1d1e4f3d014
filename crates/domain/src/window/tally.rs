//! How many in which bucket.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Minute, Window};

/// How many different subjects one bucket remembers. Whoever has a higher threshold than that counts events.
const MOST_SUBJECTS: usize = 200;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountBy {
    /// How often it happened.
    Occurrences,
    /// To how many different subjects it happened.
    Subjects,
}

/// How many in which bucket, for one group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub(super) buckets: BTreeMap<Minute, Bucket>,
}

/// What is counted in one bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bucket {
    /// How often it happened.
    pub occurrences: u64,
    /// To whom it happened, as hashes; empty where nobody asks.
    pub subjects: BTreeSet<u32>,
}

impl Tally {
    /// Counts something that happened `times` in that minute. `subject` says to whom, where that is asked.
    pub fn add(&mut self, window: Window, minute: Minute, times: u64, subject: Option<u32>) {
        if times == 0 {
            return;
        }
        let bucket = self.buckets.entry(window.bucket(minute)).or_default();
        bucket.occurrences = bucket.occurrences.saturating_add(times);
        if let Some(subject) = subject
            && bucket.subjects.len() < MOST_SUBJECTS
        {
            bucket.subjects.insert(subject);
        }
    }

    /// Forgets what does not count any more.
    pub fn expire(&mut self, window: Window, now: Timestamp) {
        self.buckets.retain(|bucket, _| window.has(*bucket, now));
    }

    /// How many count now.
    pub fn count(&self, window: Window, by: CountBy, now: Timestamp) -> u64 {
        let counted = self.buckets.iter().filter(|(bucket, _)| window.has(**bucket, now));
        match by {
            CountBy::Occurrences => {
                counted.fold(0, |sum: u64, (_, bucket)| sum.saturating_add(bucket.occurrences))
            }
            CountBy::Subjects => {
                let subjects: BTreeSet<_> =
                    counted.flat_map(|(_, bucket)| &bucket.subjects).collect();
                subjects.len() as u64
            }
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}
