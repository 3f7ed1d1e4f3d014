use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// Real time, plus what a test has added. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    ahead: Arc<Mutex<Duration>>,
}

impl Clock {
    pub fn advance(&self, by: Duration) {
        let mut ahead = self.ahead.lock();
        *ahead = ahead.saturating_add(by);
    }

    pub fn now(&self) -> Timestamp {
        later(Timestamp::now(), *self.ahead.lock())
    }
}

/// At most the end of time.
pub(super) fn later(time: Timestamp, duration: Duration) -> Timestamp {
    SignedDuration::try_from(duration)
        .and_then(|duration| time.checked_add(duration))
        .unwrap_or(Timestamp::MAX)
}
