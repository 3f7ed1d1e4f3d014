//! The front's time: real time, plus what a test has added.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// A clock that a test can put forward. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    ahead: Arc<Mutex<Duration>>,
}

impl Clock {
    /// Puts the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut ahead = self.ahead.lock();
        *ahead = ahead.saturating_add(by);
    }

    /// The time of this clock.
    pub fn now(&self) -> Timestamp {
        later(Timestamp::now(), *self.ahead.lock())
    }
}

/// `duration` after `time`, or the end of time.
pub(super) fn later(time: Timestamp, duration: Duration) -> Timestamp {
    SignedDuration::try_from(duration)
        .and_then(|duration| time.checked_add(duration))
        .unwrap_or(Timestamp::MAX)
}
