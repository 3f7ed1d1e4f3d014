//! Whether a cluster's API server is heard of, from the requests and watches that there are anyway.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::safety::reachability::{Reachability, State};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::error::ApiError;
use crate::clock::SharedClock;

#[derive(Clone)]
pub(crate) struct Reach(Arc<Inner>);

struct Inner {
    known: Mutex<Reachability>,
    /// `None` if it never counts as unreachable.
    limit: Option<Duration>,
    clock: SharedClock,
    state: watch::Sender<State>,
}

impl Reach {
    pub(crate) fn new(clock: SharedClock, limit: Duration) -> Self {
        let known = Mutex::new(Reachability::default().answered(clock.uptime()));
        let limit = Some(limit).filter(|limit| !limit.is_zero());
        Self(Arc::new(Inner { known, limit, clock, state: watch::Sender::default() }))
    }

    pub(super) fn now(&self) -> Duration {
        self.0.clock.uptime()
    }

    /// What became of a request. A refusal is an answer.
    pub(super) fn learn<T>(&self, sent: Duration, answer: &Result<T, ApiError>) {
        match answer {
            Err(ApiError::TimedOut(_) | ApiError::Disconnected(_)) => {
                let (now, limit) = (self.now(), self.0.limit);
                self.step(|known| limit.map_or(known, |limit| known.failed(sent, now, limit)));
            }
            _ => self.heard(),
        }
    }

    pub(super) fn heard(&self) {
        let now = self.now();
        self.step(|known| known.answered(now));
    }

    /// All caches were listed, since a time at which the state was as it is.
    pub(crate) fn verified(&self) {
        self.step(Reachability::verified);
    }

    fn step(&self, step: impl FnOnce(Reachability) -> Reachability) {
        let mut known = self.0.known.lock();
        *known = step(*known);
        let state = known.state;
        // Under the lock, so that states are sent in order.
        self.0.state.send_if_modified(|sent| std::mem::replace(sent, state) != state);
    }

    pub(crate) fn state(&self) -> State {
        *self.0.state.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<State> {
        self.0.state.subscribe()
    }
}
