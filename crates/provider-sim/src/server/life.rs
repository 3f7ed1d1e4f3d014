//! The state of an instance as a function of time. Nothing ticks.

use std::time::Duration;

use crate::messages::{DELETED, DIED};
use crate::wire::State;

/// What determines the state. Times are cloud time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    /// When it runs; `None`: never.
    pub(super) boots: Option<Duration>,
    pub(super) dies: Option<Duration>,
    pub(super) deleted: Option<Duration>,
    pub(super) stop: Duration,
}

impl Life {
    pub(super) fn state(&self, now: Duration) -> (State, Option<&'static str>) {
        let gone = self.deleted.map(|deleted| deleted + self.stop);
        match () {
            () if gone.is_some_and(|gone| gone <= now) => (State::Terminated, Some(DELETED)),
            () if self.dies.is_some_and(|dies| dies <= now) => (State::Terminated, Some(DIED)),
            () if self.deleted.is_some_and(|deleted| deleted <= now) => {
                (State::ShuttingDown, Some(DELETED))
            }
            () if self.boots.is_some_and(|boots| boots <= now) => (State::Running, None),
            () => (State::Pending, None),
        }
    }

    /// When the state may change.
    pub(super) fn next_change(&self, now: Duration) -> Option<Duration> {
        let gone = self.deleted.map(|deleted| deleted + self.stop);
        [self.boots, self.dies, gone].into_iter().flatten().filter(|time| *time > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const HEALTHY: Life = Life { boots: Some(at(5)), dies: None, deleted: None, stop: at(3) };

    #[test]
    fn states_follow_from_time() {
        let deleted = Life { deleted: Some(at(20)), ..HEALTHY };
        let dies = Life { dies: Some(at(10)), ..HEALTHY };
        let cases = [
            (HEALTHY, 0, State::Pending),
            (HEALTHY, 5, State::Running),
            (Life { boots: None, ..HEALTHY }, 1_000_000, State::Pending),
            (Life { boots: Some(at(0)), ..HEALTHY }, 0, State::Running),
            (deleted, 20, State::ShuttingDown),
            (deleted, 23, State::Terminated),
            (Life { deleted: Some(at(1)), ..HEALTHY }, 2, State::ShuttingDown),
            (Life { stop: at(0), ..deleted }, 20, State::Terminated),
            (dies, 9, State::Running),
            (dies, 10, State::Terminated),
            (Life { deleted: Some(at(9)), ..dies }, 10, State::Terminated),
        ];
        for (life, now, expected) in cases {
            assert_eq!(life.state(at(now)).0, expected, "{life:?} at {now}");
        }
    }

    #[test]
    fn next_change_misses_no_state() {
        let life = Life { dies: Some(at(50)), deleted: Some(at(20)), ..HEALTHY };
        let mut now = at(0);
        let mut seen = vec![life.state(now).0];
        while let Some(next) = life.next_change(now) {
            now = next;
            seen.push(life.state(now).0);
        }
        assert_eq!(&seen[..3], [State::Pending, State::Running, State::Terminated]);
    }
}
