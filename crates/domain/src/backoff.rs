//! Exponential backoff with jitter. The random number is an argument: the same inputs give the same delay.

use std::time::Duration;

/// Doubles from `base` up to `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The longest delay after the first failure.
    pub base: Duration,
    /// The longest delay after any failure.
    pub max: Duration,
}

impl Backoff {
    /// The delay after `failures` consecutive failures (at least 1), shortened by up to a half. `random` lies in 0..1.
    pub fn delay(&self, failures: u32, random: f64) -> Duration {
        self.delay_with_jitter(failures, 0.5, random)
    }

    /// As [`Backoff::delay`], shortened by up to the share `jitter`.
    pub fn delay_with_jitter(&self, failures: u32, jitter: f64, random: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(30);
        let full = self.base.saturating_mul(1 << doublings).min(self.max);
        full.mul_f64(1.0 - random.clamp(0.0, 1.0) * jitter)
    }

    /// Both durations multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
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
    fn permanent_failure_costs_a_few_calls_a_minute() {
        // The worst case of jitter: every delay is halved.
        let mut at = Duration::ZERO;
        let calls = (1..).take_while(|n| {
            at += BACKOFF.delay(*n, 1.0);
            at < Duration::from_secs(60)
        });
        assert!(calls.count() <= 7);
    }
}
