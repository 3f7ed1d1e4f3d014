//! The injected clock. [`Clock::now`] is wall time and may jump. [`Clock::uptime`] is monotonic and includes suspend,
//! so a lease that expired during suspend is seen as expired.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// A clock.
pub trait Clock: Debug + Send + Sync {
    /// Wall time.
    fn now(&self) -> Timestamp;
    /// Monotonic time, suspend included, for deadlines.
    fn uptime(&self) -> Duration;
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// The system clock.
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

/// A clock that tests advance.
#[derive(Debug, Default)]
pub struct ManualClock(parking_lot::Mutex<Duration>);

impl ManualClock {
    /// Advances the clock.
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
