//! What a writer sees of a lease: whether it may write, and how long an answer may take.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock::SharedClock;

/// Whether and how long a controller may write.
#[derive(Debug, Clone)]
pub enum Leadership {
    /// No lease is needed: the controller is safe beside itself, or somebody said so.
    NotNeeded,
    /// A lease decides.
    Lease {
        /// Until when, on the clock's `uptime`; `None` while somebody else leads.
        until: watch::Receiver<Option<Duration>>,
        /// The clock.
        clock: SharedClock,
        /// When a write was last given up without an answer.
        unanswered: Unanswered,
    },
}

/// When a write was last given up without an answer, on the clock's `uptime`: nobody knows whether and when it will land.
pub(super) type Unanswered = Arc<Mutex<Option<Duration>>>;

impl Leadership {
    /// How long an answer may take, at most `limit`; `None` if nothing may be sent.
    pub fn time_left(&self, limit: Duration) -> Option<Duration> {
        match self {
            Self::NotNeeded => Some(limit),
            Self::Lease { until, clock, .. } => {
                let left = (*until.borrow())?.checked_sub(clock.uptime())?;
                if left.is_zero() { None } else { Some(left.min(limit)) }
            }
        }
    }

    /// Says that a write goes out; to be kept until its answer is there.
    pub(crate) fn sending(&self) -> Sending<'_> {
        Sending { leadership: self, answered: false }
    }

    /// Returns when writing is allowed.
    pub async fn wait_gained(&self) {
        match self {
            Self::NotNeeded => {}
            Self::Lease { until, .. } => {
                // An error means that the elector is gone: then the lease never comes.
                if until.clone().wait_for(Option::is_some).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// Returns when writing is not allowed any more.
    pub async fn wait_lost(&self) {
        match self {
            Self::NotNeeded => std::future::pending().await,
            // An error means that the elector is gone, and the lease with it.
            Self::Lease { until, .. } => drop(until.clone().wait_for(Option::is_none).await),
        }
    }
}

/// A write that is under way. Dropped without an answer (it timed out, broke off or was abandoned), it is remembered.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    leadership: &'a Leadership,
    answered: bool,
}

impl Sending<'_> {
    /// The answer is there, whatever it says.
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if let (false, Leadership::Lease { clock, unanswered, .. }) =
            (self.answered, self.leadership)
        {
            *unanswered.lock() = Some(clock.uptime());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn a_write_may_take_no_longer_than_the_lease_lasts() {
        let clock = Arc::new(ManualClock::default());
        let (state, until) = watch::channel(None);
        let leadership =
            Leadership::Lease { until, clock: clock.clone(), unanswered: Arc::default() };
        let limit = Duration::from_secs(30);
        assert_eq!(leadership.time_left(limit), None);

        state.send_replace(Some(Duration::from_secs(80)));
        assert_eq!(leadership.time_left(limit), Some(limit));
        clock.advance(Duration::from_secs(70));
        assert_eq!(leadership.time_left(limit), Some(Duration::from_secs(10)));

        // Nobody told us that the lease is lost, because the process was asleep: the clock does.
        clock.advance(Duration::from_secs(10));
        assert_eq!(leadership.time_left(limit), None);
    }
}
