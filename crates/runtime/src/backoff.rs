//! Exponential backoff with jitter. The random number is an argument: the same inputs give the same delay.

use std::time::Duration;

/// How long to wait before the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Before the second attempt, at most.
    pub base: Duration,
    /// Before any attempt, at most.
    pub max: Duration,
}

impl Backoff {
    /// The delay after `failures` failures in a row (at least 1). `random` lies in 0..1 and takes off up to a half.
    pub fn delay(&self, failures: u32, random: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(30);
        let full = self.base.saturating_mul(1 << doublings).min(self.max);
        full.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }

    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self { base: self.base.mul_f64(factor), max: self.max.mul_f64(factor) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff =
        Backoff { base: Duration::from_secs(1), max: Duration::from_secs(300) };

    #[test]
    fn doubles_up_to_the_maximum_and_never_overflows() {
        assert_eq!(BACKOFF.delay(1, 0.0), Duration::from_secs(1));
        assert_eq!(BACKOFF.delay(4, 0.0), Duration::from_secs(8));
        assert_eq!(BACKOFF.delay(u32::MAX, 0.0), Duration::from_secs(300));
    }

    #[test]
    fn jitter_only_shortens_and_by_at_most_a_half() {
        assert_eq!(BACKOFF.delay(1, 1.0), Duration::from_millis(500));
        assert_eq!(BACKOFF.delay(1, 0.5), Duration::from_millis(750));
    }

    #[test]
    fn a_failure_that_stays_costs_a_few_calls_a_minute() {
        // The worst case of jitter: every delay is halved.
        let mut at = Duration::ZERO;
        let calls = (1..).take_while(|n| {
            at += BACKOFF.delay(*n, 1.0);
            at < Duration::from_secs(60)
        });
        assert!(calls.count() <= 7);
    }
}
