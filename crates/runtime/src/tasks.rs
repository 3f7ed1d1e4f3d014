//! The background tasks of the process; all of them stop on shutdown.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns tasks and waits for their end.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Spawns a task. It must end soon after [`Tasks::stopping`] is cancelled.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Cancelled on shutdown.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Stops all tasks and waits for them.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
