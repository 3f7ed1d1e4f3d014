//! What happens to the view: time passes, the terminal gets another size, the user stops it.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

const PERIOD: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    Read,
    Resized,
    Stop,
}

pub(super) struct Inputs<'a> {
    stop: &'a CancellationToken,
    resized: Signal,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(stop: &'a CancellationToken) -> std::io::Result<Self> {
        Ok(Self { stop, resized: signal(SignalKind::window_change())? })
    }

    pub(super) async fn next(&mut self) -> Input {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Input::Stop,
            _ = self.resized.recv() => Input::Resized,
            () = tokio::time::sleep(PERIOD) => Input::Read,
        }
    }
}
