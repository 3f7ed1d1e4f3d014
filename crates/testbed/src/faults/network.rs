use std::time::Duration;

use tokio::{sync::watch, task::AbortHandle};

#[derive(Debug, Clone, Copy, Default)]
struct State {
    refusing: bool,
    cuts: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Network(watch::Sender<State>);

impl Network {
    /// Only those that are open now.
    pub(super) fn cut(&self) {
        self.0.send_modify(|state| state.cuts += 1);
    }

    /// Also closes those that are open.
    pub(super) fn refuse(&self, refusing: bool) {
        self.0.send_modify(|state| {
            state.refusing = refusing;
            state.cuts += u64::from(refusing);
        });
    }

    /// `None` if it is refused.
    pub(super) fn connect(&self) -> Option<Link> {
        let states = self.0.subscribe();
        let State { refusing, cuts } = *states.borrow();
        (!refusing).then_some(Link { states, cuts })
    }

    pub(super) fn cut_every(&self, period: Duration) -> CutTimer {
        let network = self.clone();
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(period).await;
                network.cut();
            }
        });
        CutTimer(task.abort_handle())
    }
}

#[derive(Debug)]
pub(super) struct Link {
    states: watch::Receiver<State>,
    cuts: u64,
}

impl Link {
    pub(super) async fn cut(mut self) {
        let cuts = self.cuts;
        // An error means that the proxy is gone, which closes the connection as well.
        drop(self.states.wait_for(|state| state.cuts != cuts).await);
    }
}

#[derive(Debug)]
#[must_use = "connections are cut only while the timer lives"]
pub struct CutTimer(AbortHandle);

impl Drop for CutTimer {
    fn drop(&mut self) {
        self.0.abort();
    }
}
