//! The cloud's clock: scaled real time since the start of the cloud.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub(super) struct Clock(watch::Sender<Pace>);

#[derive(Debug, Clone, Copy)]
struct Pace {
    since: Instant,
    reached: Duration,
    scale: f64,
}

impl Pace {
    fn at(&self, now: Instant) -> Duration {
        self.reached + now.saturating_duration_since(self.since).mul_f64(self.scale)
    }
}

impl Clock {
    pub(super) fn new(scale: f64) -> Self {
        let since = Instant::now();
        Self(watch::Sender::new(Pace { since, reached: Duration::ZERO, scale: sane(scale) }))
    }

    pub(super) fn now(&self) -> Duration {
        self.0.borrow().at(Instant::now())
    }

    /// Changes the scale; the past stays.
    pub(super) fn set_scale(&self, scale: f64) {
        self.0.send_modify(|pace| {
            let now = Instant::now();
            *pace = Pace { since: now, reached: pace.at(now), scale: sane(scale) };
        });
    }

    /// Waits until this cloud time, even if the scale changes meanwhile.
    pub(super) async fn sleep_until(&self, time: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let pace = *changes.borrow_and_update();
            let left = time.saturating_sub(pace.at(Instant::now()));
            if left.is_zero() {
                return;
            }
            let real = left.div_f64(pace.scale).max(Duration::from_millis(1));
            tokio::select! {
                () = tokio::time::sleep(real) => {}
                _ = changes.changed() => {}
            }
        }
    }
}

/// A clock that stands still would block everything.
fn sane(scale: f64) -> f64 {
    if scale.is_finite() { scale.clamp(0.001, 1_000_000.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn cloud_time_is_real_time_sped_up_and_never_jumps() {
        let clock = Clock::new(10.0);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.now(), Duration::from_secs(20));
        clock.set_scale(1.0);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(clock.now(), Duration::from_secs(22));
    }

    #[tokio::test(start_paused = true)]
    async fn sleep_follows_a_change_of_scale() {
        let clock = Clock::new(1.0);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(Duration::from_secs(1000)).await }
        });
        tokio::task::yield_now().await;
        clock.set_scale(1000.0);
        let start = Instant::now();
        sleeper.await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
}
