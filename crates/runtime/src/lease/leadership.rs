//! The writers' view of a lease: whether they may write, and how long an answer may take.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock::SharedClock;

/// Whether and how long a controller may write.
#[derive(Debug, Clone)]
pub enum Leadership {
    NotNeeded,
    Lease {
        /// The deadline in `uptime`; `None` while another process leads.
        until: watch::Receiver<Option<Duration>>,
        clock: SharedClock,
        unanswered: Unanswered,
    },
}

/// When a write was last abandoned without an answer, in `uptime`: it may still be executed.
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

    pub(crate) fn sending(&self) -> Sending<'_> {
        Sending { leadership: self, answered: false }
    }

    pub(crate) async fn wait_gained(&self) {
        match self {
            Self::NotNeeded => {}
            Self::Lease { until, .. } => {
                // An error means that the elector is gone: the lease never comes.
                if until.clone().wait_for(Option::is_some).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    pub(crate) async fn wait_lost(&self) {
        match self {
            Self::NotNeeded => std::future::pending().await,
            // An error means that the elector is gone, and the lease with it.
            Self::Lease { until, .. } => drop(until.clone().wait_for(Option::is_none).await),
        }
    }
}

/// A write in flight. `Drop` without an answer records it.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    leadership: &'a Leadership,
    answered: bool,
}

impl Sending<'_> {
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
    fn writes_end_with_the_lease() {
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

        // The process was suspended: the clock ends the right to write.
        clock.advance(Duration::from_secs(10));
        assert_eq!(leadership.time_left(limit), None);
    }
}
