//! When a share begins a freeze and when it ends it: a table of states, without a clock of its own.
//!
//! A freeze begins above the limit, and ends when the share has been at most four fifths of it for a while. A process
//! that starts does not know whether there was a freeze, so it begins one above the lower bound already.

use std::time::Duration;

/// How many of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gauge {
    pub count: usize,
    pub total: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// More than this share begins a freeze; 100 never does.
    pub percent: u8,
    /// Fewer than these in total begin none.
    pub at_least: usize,
}

/// The limits of all reasons that are found by counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of the Nodes.
    pub not_ready: Limit,
}

impl Default for Limits {
    fn default() -> Self {
        Self { not_ready: Limit { percent: 50, at_least: 5 } }
    }
}

impl Limit {
    pub fn begins(self, gauge: Gauge) -> bool {
        self.is_above(gauge, self.percent.into())
    }

    /// Whether a freeze goes on.
    pub fn keeps(self, gauge: Gauge) -> bool {
        self.is_above(gauge, usize::from(self.percent) * 4 / 5)
    }

    fn is_above(self, Gauge { count, total }: Gauge, percent: usize) -> bool {
        self.percent < 100
            && total >= self.at_least
            && count.saturating_mul(100) > total.saturating_mul(percent)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    /// Nothing is counted yet.
    #[default]
    Unknown,
    Clear,
    Frozen,
    /// It ends if it stays as it has been since this uptime.
    Ending(Duration),
}

impl State {
    pub fn is_frozen(self) -> bool {
        matches!(self, Self::Frozen | Self::Ending(_))
    }

    /// The state after these counts, of which each alone begins and keeps a freeze.
    #[must_use]
    pub fn next(self, gauges: &[Gauge], limit: Limit, hold: Duration, uptime: Duration) -> Self {
        let begins = gauges.iter().any(|gauge| limit.begins(*gauge));
        let keeps = gauges.iter().any(|gauge| limit.keeps(*gauge));
        match self {
            Self::Unknown if gauges.is_empty() => Self::Unknown,
            Self::Clear if begins => Self::Frozen,
            Self::Unknown | Self::Frozen | Self::Ending(_) if keeps => Self::Frozen,
            Self::Unknown | Self::Clear => Self::Clear,
            Self::Frozen => Self::Ending(uptime),
            Self::Ending(since) if uptime >= since.saturating_add(hold) => Self::Clear,
            Self::Ending(since) => Self::Ending(since),
        }
    }

    /// When it changes although no count does.
    pub fn ends_in(self, hold: Duration, uptime: Duration) -> Option<Duration> {
        match self {
            Self::Ending(since) => Some(since.saturating_add(hold).saturating_sub(uptime)),
            Self::Unknown | Self::Clear | Self::Frozen => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(2);

    fn limit() -> Limit {
        Limits::default().not_ready
    }

    #[test]
    fn more_than_half_of_at_least_five_begin_and_two_fifths_end() {
        let gauge = |count, total| Gauge { count, total };
        for (count, total, begins, keeps) in [
            (4, 4, false, false),
            (2, 5, false, false),
            (3, 5, true, true),
            (4, 10, false, false),
            (5, 10, false, true),
            (6, 10, true, true),
            (0, 0, false, false),
        ] {
            let (limit, gauge) = (limit(), gauge(count, total));
            assert_eq!((limit.begins(gauge), limit.keeps(gauge)), (begins, keeps), "{gauge:?}");
        }
        let never = Limit { percent: 100, at_least: 5 };
        assert!(!never.begins(gauge(9, 9)) && !never.keeps(gauge(9, 9)));
    }

    /// Every state with every pair of counts and every time: what the table says, and nothing else.
    #[test]
    fn every_step_follows_the_table() {
        let seconds = Duration::from_secs;
        let mut states = vec![State::Unknown, State::Clear, State::Frozen];
        states.extend((0..5).map(|at| State::Ending(seconds(at))));
        let gauges: Vec<_> = (0..=7)
            .flat_map(|total| (0..=total).map(move |count| Gauge { count, total }))
            .collect();
        for state in states {
            for first in &gauges {
                for second in &gauges {
                    for now in 0..5 {
                        step(state, [*first, *second], seconds(now));
                    }
                }
            }
            let same = state.next(&[], limit(), HOLD, seconds(0));
            assert_eq!(same == State::Unknown, state == State::Unknown, "nothing is counted");
        }
    }

    fn step(state: State, gauges: [Gauge; 2], now: Duration) {
        let next = state.next(&gauges, limit(), HOLD, now);
        let begins = gauges.iter().any(|one| limit().begins(*one));
        let keeps = gauges.iter().any(|one| limit().keeps(*one));
        let text = format!("{state:?} {gauges:?} {now:?}: {next:?}");
        assert!(!begins || next == State::Frozen, "above the limit all is frozen: {text}");
        assert!(!begins || keeps);
        assert_ne!(next, State::Unknown);
        if state == State::Clear {
            assert_eq!(next.is_frozen(), begins, "{text}");
        }
        if state.is_frozen() && !next.is_frozen() {
            let State::Ending(since) = state else { panic!("no freeze ends at once: {text}") };
            assert!(!keeps && now >= since + HOLD, "{text}");
        }
        if state.is_frozen() && keeps {
            assert_eq!(next, State::Frozen, "the time begins again: {text}");
        }
        let left = next.ends_in(HOLD, now);
        assert_eq!(left.is_some(), matches!(next, State::Ending(_)));
        if let Some(left) = left {
            let later = next.next(&gauges, limit(), HOLD, now + left);
            assert_eq!(later, State::Clear, "it ends by itself at the time that it names: {text}");
        }
    }
}
