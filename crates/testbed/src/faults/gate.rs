//! Parks requests until a test lets them go on. Once `reached` returns, the test can kill the sender.

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, Default)]
struct State {
    arrived: u32,
    open: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Gate(watch::Sender<State>);

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn arrived(&self) -> u32 {
        self.0.borrow().arrived
    }

    pub async fn reached(&self) {
        self.wait(|state| state.arrived > 0).await;
    }

    /// Lets all that wait, and all that follow, pass.
    pub fn open(&self) {
        self.0.send_modify(|state| state.open = true);
    }

    pub(super) async fn pass(&self) {
        self.arrive();
        self.opened().await;
    }

    pub(super) fn arrive(&self) {
        self.0.send_modify(|state| state.arrived += 1);
    }

    pub(super) async fn opened(&self) {
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
