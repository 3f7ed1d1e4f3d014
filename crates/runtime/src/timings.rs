//! Every duration of the runtime in one value that is injected, so that tests can scale time. Controllers have timings of their own.

use std::time::Duration;

use machinist_domain::backoff::Backoff;

/// Backoffs, graces, periods and timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// The longest that one request may take, apart from lists and watches.
    pub request: Duration,
    /// The longest that one call which changes a cloud may take.
    pub cloud_call: Duration,
    /// The longest that one page of a list may take.
    pub list_page: Duration,
    /// How long the API server is asked to keep a watch open.
    pub watch: Duration,
    /// How much longer than that we wait before we give a silent watch up.
    pub watch_slack: Duration,
    /// Between attempts to list or watch.
    pub reconnect: Backoff,
    /// Between attempts to reach an API server that is not there yet.
    pub wait_for_api: Backoff,
    /// Between two verify passes over a cache; jitter only shortens it.
    pub sync_period: Duration,
    /// Between attempts at one object.
    pub retry: Backoff,
    /// How long a lease lasts without being renewed.
    pub lease: Duration,
    /// During this time the same Event is not written again about the same object.
    pub event_window: Duration,
    /// How long a step in hand may go on after the signal to stop. Giving leases back may take half of this again, and the rest a fifth.
    pub stop_grace: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            request: seconds(30),
            cloud_call: seconds(60),
            list_page: seconds(60),
            watch: seconds(290),
            watch_slack: seconds(30),
            reconnect: Backoff { base: Duration::from_millis(500), max: seconds(30) },
            wait_for_api: Backoff { base: Duration::from_millis(500), max: seconds(10) },
            sync_period: seconds(600),
            retry: Backoff { base: seconds(1), max: seconds(300) },
            lease: seconds(120),
            // As long as API servers keep Events: one that is still true is said again when the first is gone.
            event_window: seconds(3600),
            stop_grace: seconds(5),
        }
    }
}

impl Timings {
    /// All durations multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        // Destructured without `..`: a new duration that is not scaled does not compile.
        let Self {
            request,
            cloud_call,
            list_page,
            watch,
            watch_slack,
            reconnect,
            wait_for_api,
            sync_period,
            retry,
            lease,
            event_window,
            stop_grace,
        } = self;
        Self {
            request: request.mul_f64(factor),
            cloud_call: cloud_call.mul_f64(factor),
            list_page: list_page.mul_f64(factor),
            watch: watch.mul_f64(factor),
            watch_slack: watch_slack.mul_f64(factor),
            reconnect: reconnect.scaled(factor),
            wait_for_api: wait_for_api.scaled(factor),
            sync_period: sync_period.mul_f64(factor),
            retry: retry.scaled(factor),
            lease: lease.mul_f64(factor),
            event_window: event_window.mul_f64(factor),
            stop_grace: stop_grace.mul_f64(factor),
        }
    }

    /// How long the holder of a lease tries to renew it before it steps down.
    pub fn renew_deadline(&self) -> Duration {
        self.lease * 2 / 3
    }

    /// Between two renewals, and between two attempts.
    pub fn lease_retry(&self) -> Duration {
        self.lease * 2 / 15
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_follows_the_shares_that_others_use() {
        let timings = Timings::default();
        assert_eq!(timings.lease, Duration::from_secs(120));
        assert_eq!(timings.renew_deadline(), Duration::from_secs(80));
        assert_eq!(timings.lease_retry(), Duration::from_secs(16));
    }

    #[test]
    fn stopping_takes_less_than_ten_seconds() {
        let grace = Timings::default().stop_grace;
        assert!(grace + grace / 2 + grace / 5 < Duration::from_secs(10));
    }
}
