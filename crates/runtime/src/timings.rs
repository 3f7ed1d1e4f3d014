//! Every duration of the runtime in one value that is injected, so that tests can scale time.

use std::time::Duration;

use machinist_domain::backoff::Backoff;

/// Backoffs, graces, periods and timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// The timeout of a request, except lists and watches.
    pub request: Duration,
    /// The timeout of a call that changes a cloud.
    pub cloud_call: Duration,
    /// The timeout of one page of a list.
    pub list_page: Duration,
    /// The `timeoutSeconds` of a watch.
    pub watch: Duration,
    /// A watch without a message for this long is reopened: its connection may be dead. API servers send a bookmark
    /// every minute.
    pub watch_silence: Duration,
    /// Between attempts to list or watch.
    pub reconnect: Backoff,
    /// Between attempts to reach an API server at the start.
    pub wait_for_api: Backoff,
    /// The resync period; jitter only shortens it.
    pub sync_period: Duration,
    /// Between attempts to reconcile one object.
    pub retry: Backoff,
    /// The duration of a lease.
    pub lease: Duration,
    /// A queue without progress for this long fails `/healthz`. Far longer than a reconcile takes whose requests all
    /// use up their timeouts.
    pub stall: Duration,
    /// The same Event about an object is not repeated within this time.
    pub event_window: Duration,
    /// The grace period of reconciles on shutdown. Then leases are released within half of it, and everything else
    /// stops within a fifth.
    pub stop_grace: Duration,
    pub server: ServerTimings,
    pub freezes: FreezeTimings,
}

/// Timings of the freezes that machinist finds by counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreezeTimings {
    /// How long changes are collected before they are counted.
    pub gather: Duration,
    /// How long the counts must be low until a freeze ends.
    pub hold: Duration,
    /// A Node whose condition Ready has changed at least this long after its creation has been ready before. Kubelets
    /// set the condition when they register.
    pub joining: Duration,
    /// An API server counts as unreachable when requests have failed for this long; zero: never.
    pub unreachable: Duration,
}

/// Timings of an HTTPS server and of the reviews that authorize its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTimings {
    /// A connection whose TLS handshake takes longer is closed.
    pub handshake: Duration,
    /// A connection without a complete request header for this long is closed: an unused one, and that of a client that
    /// sends slowly.
    pub idle: Duration,
    /// The certificate's files are read again at most this often.
    pub certificate: Duration,
    /// The time limit for authenticating and authorizing a request.
    pub review: Duration,
    /// How long the result is used again.
    pub review_ttl: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            request: seconds(30),
            cloud_call: seconds(60),
            list_page: seconds(60),
            watch: seconds(290),
            watch_silence: seconds(150),
            reconnect: Backoff { base: Duration::from_millis(500), max: seconds(30) },
            wait_for_api: Backoff { base: Duration::from_millis(500), max: seconds(10) },
            sync_period: seconds(600),
            retry: Backoff { base: seconds(1), max: seconds(300) },
            lease: seconds(120),
            stall: seconds(1800),
            // As long as API servers usually keep Events: one that still applies is written again.
            event_window: seconds(3600),
            stop_grace: seconds(5),
            server: ServerTimings::default(),
            freezes: FreezeTimings::default(),
        }
    }
}

impl Timings {
    /// All durations multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            request: self.request.mul_f64(factor),
            cloud_call: self.cloud_call.mul_f64(factor),
            list_page: self.list_page.mul_f64(factor),
            watch: self.watch.mul_f64(factor),
            watch_silence: self.watch_silence.mul_f64(factor),
            reconnect: self.reconnect.scaled(factor),
            wait_for_api: self.wait_for_api.scaled(factor),
            sync_period: self.sync_period.mul_f64(factor),
            retry: self.retry.scaled(factor),
            lease: self.lease.mul_f64(factor),
            stall: self.stall.mul_f64(factor),
            event_window: self.event_window.mul_f64(factor),
            stop_grace: self.stop_grace.mul_f64(factor),
            server: self.server.scaled(factor),
            freezes: self.freezes.scaled(factor),
        }
    }

    /// How long after it sent its last renewal the holder may write: client-go's RenewDeadline.
    pub(crate) fn renew_deadline(&self) -> Duration {
        self.lease * 2 / 3
    }

    /// The time between two renewals: client-go's RetryPeriod.
    pub(crate) fn lease_retry(&self) -> Duration {
        self.lease * 2 / 15
    }
}

/// As controller-runtime, whose timeout of a review is Prometheus' timeout of a scrape, too. `idle` is longer than the
/// usual time between two scrapes.
impl Default for ServerTimings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            handshake: seconds(10),
            idle: seconds(90),
            certificate: seconds(10),
            review: seconds(10),
            review_ttl: seconds(60),
        }
    }
}

impl ServerTimings {
    fn scaled(self, factor: f64) -> Self {
        Self {
            handshake: self.handshake.mul_f64(factor),
            idle: self.idle.mul_f64(factor),
            certificate: self.certificate.mul_f64(factor),
            review: self.review.mul_f64(factor),
            review_ttl: self.review_ttl.mul_f64(factor),
        }
    }
}

impl Default for FreezeTimings {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            gather: Duration::from_millis(200),
            hold: minute,
            joining: minute,
            unreachable: minute / 2,
        }
    }
}

impl FreezeTimings {
    fn scaled(self, factor: f64) -> Self {
        Self {
            gather: self.gather.mul_f64(factor),
            hold: self.hold.mul_f64(factor),
            joining: self.joining.mul_f64(factor),
            // A busy machine would turn a shorter time into an outage.
            unreachable: self.unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_uses_the_ratios_of_client_go() {
        let timings = Timings::default();
        assert_eq!(timings.lease, Duration::from_secs(120));
        assert_eq!(timings.renew_deadline(), Duration::from_secs(80));
        assert_eq!(timings.lease_retry(), Duration::from_secs(16));
    }

    #[test]
    fn shutdown_takes_less_than_ten_seconds() {
        let grace = Timings::default().stop_grace;
        assert!(grace + grace / 2 + grace / 5 < Duration::from_secs(10));
    }
}
