//! The clock, injected everywhere, so that a test can say what time it is.
//!
//! Two readings that must not be mixed up: [`Clock::now`] is what people read in timestamps and may jump; [`Clock::uptime`] only grows, and
//! also while the machine sleeps, so a lease that ran out during a suspend is seen as run out.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Debug + Send + Sync {
    /// The time of day, for people.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment, suspend included, for deadlines.
    fn uptime(&self) -> Duration;
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn uptime(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
        Duration::new(seconds, nanoseconds)
    }
}

/// A clock that stands still until it is moved, for tests.
#[derive(Debug, Default)]
pub struct ManualClock(parking_lot::Mutex<Duration>);

impl ManualClock {
    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        *self.0.lock() += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH.checked_add(*self.0.lock()).unwrap_or(Timestamp::MAX)
    }

    fn uptime(&self) -> Duration {
        *self.0.lock()
    }
}
