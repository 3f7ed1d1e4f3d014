//! A place where a request is parked until a test lets it go on.
//!
//! The test holds one clone, the rule's effect the other. `reached` returns when a request has
//! arrived, which is the moment to kill its sender; `open` lets all that wait, and all that follow, pass.

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, Default)]
struct State {
    arrived: u32,
    open: bool,
}

/// Parks requests; clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Gate(watch::Sender<State>);

impl Gate {
    /// A closed gate that no request has reached.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many requests have arrived so far.
    pub fn arrived(&self) -> u32 {
        self.0.borrow().arrived
    }

    /// Waits until a request has arrived.
    pub async fn reached(&self) {
        self.wait(|state| state.arrived > 0).await;
    }

    /// Lets everything pass from now on.
    pub fn open(&self) {
        self.0.send_modify(|state| state.open = true);
    }

    /// Called by the request.
    pub(super) async fn pass(&self) {
        self.0.send_modify(|state| state.arrived += 1);
        self.wait(|state| state.open).await;
    }

    async fn wait(&self, wanted: impl FnMut(&State) -> bool) {
        let mut states = self.0.subscribe();
        if states.wait_for(wanted).await.is_err() {
            // The sender lives in `self`, so it cannot be gone; were it so, nothing could change any more.
            std::future::pending::<()>().await;
        }
    }
}
