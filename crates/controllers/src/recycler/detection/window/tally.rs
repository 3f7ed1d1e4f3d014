//! Counts per bucket, bounded: few buckets, and every subject once, in its newest one. The oldest are dropped first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use machinist_api::event_recycler::spec::CountBy;

use super::{MOST_BUCKETS, MOST_SUBJECTS, Minute, Window};

/// The longest text of a bucket without its subjects: two 64-bit numbers and separators.
const LONGEST_BUCKET: usize = 42;
/// The longest text of a subject: 32 bits and a separator.
const LONGEST_SUBJECT: usize = 9;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub(super) buckets: BTreeMap<Minute, Bucket>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bucket {
    occurrences: u64,
    /// The subjects, as hashes; empty where occurrences are counted.
    pub(super) subjects: BTreeSet<u32>,
}

impl Tally {
    /// Counts `times` occurrences in that minute, with their subject where subjects are counted.
    pub(crate) fn add(&mut self, window: Window, minute: Minute, times: u64, subject: Option<u32>) {
        if times > 0 {
            self.put(window.bucket(minute), times, subject);
        }
    }

    fn put(&mut self, at: Minute, times: u64, subjects: impl IntoIterator<Item = u32>) {
        let bucket = self.buckets.entry(at).or_default();
        bucket.occurrences = bucket.occurrences.saturating_add(times);
        for subject in subjects {
            self.put_subject(at, subject);
        }
        // Besides those of the window there is the one that is just passing out of it.
        while i64::try_from(self.buckets.len()).is_ok_and(|kept| kept > MOST_BUCKETS + 1) {
            self.buckets.pop_first();
        }
    }

    fn put_subject(&mut self, at: Minute, subject: u32) {
        if self.buckets.range(at..).any(|(_, bucket)| bucket.subjects.contains(&subject)) {
            return;
        }
        for (_, bucket) in self.buckets.range_mut(..at) {
            bucket.subjects.remove(&subject);
        }
        self.buckets.entry(at).or_default().subjects.insert(subject);
        if self.subjects() > MOST_SUBJECTS {
            let oldest = self.buckets.values_mut().find(|bucket| !bucket.subjects.is_empty());
            oldest.map(|bucket| bucket.subjects.pop_first());
        }
    }

    fn subjects(&self) -> usize {
        self.buckets.values().map(|bucket| bucket.subjects.len()).sum()
    }

    /// No text of this tally is longer, in bytes.
    pub fn longest_text(&self) -> usize {
        self.buckets.len() * LONGEST_BUCKET + self.subjects() * LONGEST_SUBJECT
    }

    pub fn expire(&mut self, window: Window, now: Timestamp) {
        self.buckets.retain(|bucket, _| window.has(*bucket, now));
    }

    pub fn count(&self, window: Window, by: CountBy, now: Timestamp) -> u64 {
        let counted = self.buckets.iter().filter(|(bucket, _)| window.has(**bucket, now));
        match by {
            CountBy::Events => {
                counted.fold(0, |sum: u64, (_, bucket)| sum.saturating_add(bucket.occurrences))
            }
            CountBy::Pods | CountBy::Nodes => {
                counted.map(|(_, bucket)| bucket.subjects.len() as u64).sum()
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut tally = Self::default();
        for part in text.split_ascii_whitespace() {
            let mut fields = part.split(':');
            let (minute, times) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            let subjects = fields.next().into_iter().flat_map(|list| list.split(','));
            let subjects = subjects.map(|hash| u32::from_str_radix(hash, 16).ok());
            let subjects = subjects.collect::<Option<Vec<_>>>()?;
            if fields.next().is_some() {
                return None;
            }
            tally.put(minute, times, subjects);
        }
        Some(tally)
    }
}

/// The stored text: `29500000:7 29500001:2:9f3c1a20,b1`. Minutes and counts are decimal, subjects hexadecimal.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (minute, bucket) in &self.buckets {
            write!(f, "{between}{minute}:{}", bucket.occurrences)?;
            let mut before = ":";
            for subject in &bucket.subjects {
                write!(f, "{before}{subject:x}")?;
                before = ",";
            }
            between = " ";
        }
        Ok(())
    }
}

/// Drops the tallies with the lowest `count` until all texts, with `besides` bytes for each key, fit into `most` bytes.
pub(crate) fn bound<K: Ord + Clone>(
    tallies: &mut BTreeMap<K, Tally>,
    most: usize,
    besides: impl Fn(&K) -> usize,
    count: impl Fn(&Tally) -> u64,
) {
    let size = |key: &K, tally: &Tally| tally.longest_text() + besides(key);
    let mut total: usize = tallies.iter().map(|(key, tally)| size(key, tally)).sum();
    while total > most {
        let fewest = tallies.iter().min_by_key(|(_, tally)| count(tally));
        let Some(key) = fewest.map(|(key, _)| key.clone()) else { return };
        if let Some(tally) = tallies.remove(&key) {
            total -= size(&key, &tally);
        }
    }
}
