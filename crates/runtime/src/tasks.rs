//! The tasks of the process: all are known, all stop.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Spawns tasks and knows when the last one has ended.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Starts a task. It is expected to end soon after [`Tasks::stopping`] is cancelled.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Cancelled when the tasks shall end.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Tells the tasks to end, and waits until they have.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
