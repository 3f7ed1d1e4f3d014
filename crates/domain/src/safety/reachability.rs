//! Whether an API server can be reached, by the requests that are sent anyway: a table, without a clock of its own.
//!
//! It is unreachable when requests have failed for the limit and none was answered meanwhile. One request is not
//! enough: it may be slow by itself. After the first answer caches may be behind, so changes wait until they are
//! listed.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    #[default]
    Reachable,
    Unreachable,
    /// It answers, and the caches are not listed since.
    Unverified,
}

/// Times are uptimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Reachability {
    pub state: State,
    /// When the API server was last heard of.
    heard: Duration,
    /// Since when it may not have answered, and when that was known; `None` after an answer.
    failing: Option<(Duration, Duration)>,
}

impl Reachability {
    /// A request that was sent at this time was not answered.
    #[must_use]
    pub fn failed(mut self, sent: Duration, now: Duration, limit: Duration) -> Self {
        // It was there later than that request.
        let (since, known) = *self.failing.get_or_insert((sent.max(self.heard), now));
        if sent >= known && now.saturating_sub(since) >= limit {
            self.state = State::Unreachable;
        }
        self
    }

    /// A response, or a message of a watch.
    #[must_use]
    pub fn answered(mut self, now: Duration) -> Self {
        (self.heard, self.failing) = (now, None);
        if self.state == State::Unreachable {
            self.state = State::Unverified;
        }
        self
    }

    /// All caches were listed since the answer.
    #[must_use]
    pub fn verified(mut self) -> Self {
        if self.state == State::Unverified {
            self.state = State::Reachable;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn failures_for_the_limit_without_an_answer_make_it_unreachable() {
        let one = Reachability::default().answered(at(100));
        let failing = one.failed(at(101), at(101), LIMIT).failed(at(110), at(130), LIMIT);
        assert_eq!(failing.state, State::Reachable);
        assert_eq!(failing.failed(at(131), at(131), LIMIT).state, State::Unreachable);
        let heard = failing.answered(at(131)).failed(at(131), at(140), LIMIT);
        assert_eq!(heard.state, State::Reachable, "an answer in between");
    }

    #[test]
    fn request_that_was_slow_while_others_were_answered_proves_nothing() {
        let one = Reachability::default().answered(at(120));
        assert_eq!(one.failed(at(100), at(130), LIMIT).state, State::Reachable);
        let slow = one.failed(at(100), at(150), LIMIT);
        assert_eq!(slow.state, State::Reachable, "one request");
        assert_eq!(slow.failed(at(149), at(151), LIMIT).state, State::Reachable, "sent before");
        assert_eq!(slow.failed(at(150), at(151), LIMIT).state, State::Unreachable);
    }

    /// Every state with every event.
    #[test]
    fn every_step_follows_the_table() {
        for state in [State::Reachable, State::Unreachable, State::Unverified] {
            let one = Reachability { state, heard: at(10), failing: None };
            let failing = one.failed(at(10), at(10), LIMIT);
            assert_eq!(failing.failed(at(10), at(39), LIMIT).state, state, "too early");
            assert_eq!(failing.failed(at(10), at(40), LIMIT).state, State::Unreachable);
            let answered = one.answered(at(11)).state;
            assert_eq!(answered == State::Reachable, state == State::Reachable);
            assert_ne!(answered, State::Unreachable);
            let verified = one.verified().state;
            assert_eq!(verified == State::Unreachable, state == State::Unreachable);
            assert_ne!(verified, State::Unverified);
        }
    }
}
