//! Counting over a sliding window, in buckets of a minute, or several where the window is long. A window
//! has at most [`MOST_BUCKETS`] buckets, and a group [`MOST_SUBJECTS`] subjects in them, so that the stored text is
//! bounded. A bucket counts while any moment of it is in the window.

mod tally;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

pub(crate) use self::tally::{Tally, bound};

/// The most buckets of a window, apart from one that is leaving it.
pub(crate) const MOST_BUCKETS: i64 = 60;

/// The most subjects of one group, counted in each of their buckets; the newest stay.
pub(crate) const MOST_SUBJECTS: usize = 1000;

pub(crate) type Minute = i64;

pub(crate) fn minute_of(at: Timestamp) -> Minute {
    at.as_second().div_euclid(60)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    seconds: i64,
}

impl Window {
    /// A window of this length; less than a second is a second.
    pub fn new(length: Duration) -> Self {
        Self {
            seconds: i64::try_from(length.as_secs()).unwrap_or(i64::MAX / 4).clamp(1, i64::MAX / 4),
        }
    }

    pub fn length(self) -> Duration {
        Duration::from_secs(self.seconds.unsigned_abs())
    }

    pub fn width(self) -> i64 {
        let minutes = self.seconds.div_euclid(60) + i64::from(self.seconds % 60 > 0);
        (minutes + MOST_BUCKETS - 1).div_euclid(MOST_BUCKETS).max(1)
    }

    /// The first minute of the bucket that a minute goes into.
    pub fn bucket(self, minute: Minute) -> Minute {
        minute - minute.rem_euclid(self.width())
    }

    pub fn has(self, bucket: Minute, now: Timestamp) -> bool {
        let end = bucket.saturating_add(self.width()).saturating_mul(60);
        end > now.as_second().saturating_sub(self.seconds)
    }

    /// Whether a moment is in the window. What lies in the future is: clocks differ.
    pub fn has_moment(self, at: Timestamp, now: Timestamp) -> bool {
        at.as_second() > now.as_second().saturating_sub(self.seconds)
    }
}
