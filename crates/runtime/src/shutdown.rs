//! SIGTERM and SIGINT.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first SIGTERM or SIGINT.
pub fn on_signal() -> Result<CancellationToken, std::io::Error> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let token = CancellationToken::new();
    let cancel = token.clone();
    // Not one of the process's tasks, because it outlives them.
    #[expect(clippy::disallowed_methods, reason = "waits for a signal that may never come")]
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("SIGTERM"),
            _ = interrupt.recv() => tracing::info!("SIGINT"),
        }
        cancel.cancel();
    });
    Ok(token)
}
