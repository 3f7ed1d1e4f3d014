//! Counts per bucket and subject, bounded: a subject has at most so many in all, in its newest buckets, and there are
//! at most so many entries. The oldest are dropped first.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::{MOST_SUBJECTS, Minute, Window};

/// The longest text of a bucket without its subjects: a 64-bit number and separators.
const LONGEST_BUCKET: usize = 22;
/// The longest text of a subject: 32 bits and a separator, and a number where it counts more than once.
const LONGEST_SUBJECT: usize = 9;
const LONGEST_NUMBER: usize = 11;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often each subject counts, by the hash of the subject. None is empty.
    pub(super) buckets: BTreeMap<Minute, BTreeMap<u32, u32>>,
}

impl Tally {
    /// Counts `times` occurrences of a subject in that minute, and at most `per_subject` in all.
    pub(crate) fn add(
        &mut self,
        window: Window,
        minute: Minute,
        times: u32,
        subject: u32,
        per_subject: u32,
    ) {
        if times > 0 && per_subject > 0 {
            self.put(window.bucket(minute), times, subject, per_subject);
        }
    }

    fn put(&mut self, at: Minute, times: u32, subject: u32, per_subject: u32) {
        let count = self.buckets.entry(at).or_default().entry(subject).or_default();
        *count = count.saturating_add(times);
        // The newest stay, so that it counts as long as possible.
        let mut left = per_subject;
        for bucket in self.buckets.values_mut().rev() {
            if let Some(count) = bucket.get_mut(&subject) {
                *count = left.min(*count);
                left -= *count;
            }
            if bucket.get(&subject) == Some(&0) {
                bucket.remove(&subject);
            }
        }
        if self.entries() > MOST_SUBJECTS {
            let oldest = self.buckets.values_mut().find(|bucket| !bucket.is_empty());
            oldest.map(BTreeMap::pop_first);
        }
        self.buckets.retain(|_, bucket| !bucket.is_empty());
    }

    fn entries(&self) -> usize {
        self.buckets.values().map(BTreeMap::len).sum()
    }

    /// No text of this tally is longer, in bytes.
    pub fn longest_text(&self) -> usize {
        let counts = self.buckets.values().flat_map(BTreeMap::values);
        let numbers = counts.filter(|count| **count > 1).count() * LONGEST_NUMBER;
        self.buckets.len() * LONGEST_BUCKET + self.entries() * LONGEST_SUBJECT + numbers
    }

    pub fn expire(&mut self, window: Window, now: Timestamp) {
        self.buckets.retain(|bucket, _| window.has(*bucket, now));
    }

    pub fn count(&self, window: Window, now: Timestamp) -> u64 {
        let counted = self.buckets.iter().filter(|(bucket, _)| window.has(**bucket, now));
        counted.flat_map(|(_, bucket)| bucket.values()).map(|count| u64::from(*count)).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut tally = Self::default();
        for part in text.split_ascii_whitespace() {
            let (minute, subjects) = part.split_once(':')?;
            let minute = minute.parse().ok()?;
            for subject in subjects.split(',') {
                let (hash, times) = subject.split_once('*').unwrap_or((subject, "1"));
                let hash = u32::from_str_radix(hash, 16).ok()?;
                let times = times.parse().ok().filter(|times| *times > 0)?;
                tally.put(minute, times, hash, u32::MAX);
            }
        }
        Some(tally)
    }
}

/// The stored text: `29500000:7f 29500001:9f3c1a20*2,b1`. Minutes and counts are decimal, subjects hexadecimal.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (minute, bucket) in &self.buckets {
            write!(f, "{between}{minute}")?;
            let mut before = ":";
            for (subject, times) in bucket {
                write!(f, "{before}{subject:x}")?;
                if *times > 1 {
                    write!(f, "*{times}")?;
                }
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
