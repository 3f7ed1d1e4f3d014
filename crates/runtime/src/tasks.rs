//! The background tasks of the process; all of them stop on shutdown. A task that panics cannot be continued: what it
//! kept up to date, a cache or a lease, would stand still. So its panic is recorded, and [`crate::manager`] ends the
//! process.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::messages;

/// Spawns tasks and waits for their end.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    panics: Arc<Panics>,
}

#[derive(Debug, Default)]
struct Panics {
    first: Mutex<Option<TaskPanicked>>,
    happened: CancellationToken,
}

/// A task panicked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", messages::task_panicked(.task, .message))]
pub struct TaskPanicked {
    /// What the task does.
    pub task: String,
    pub message: String,
}

impl Tasks {
    /// Spawns a task. It must end soon after [`Tasks::stopping`] is cancelled. `name` is what it does.
    pub fn spawn(&self, name: impl Into<String>, task: impl Future<Output = ()> + Send + 'static) {
        let (name, panics) = (name.into(), Arc::clone(&self.panics));
        self.tracker.spawn(async move {
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                panics.record(TaskPanicked { task: name, message: text(&*panic) });
            }
        });
    }

    /// Tasks that are stopped apart from these. A panic of either is a panic of both.
    #[must_use]
    pub fn group(&self) -> Self {
        Self { panics: Arc::clone(&self.panics), ..Self::default() }
    }

    /// Cancelled on shutdown.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// The first panic of a task, if there was one.
    pub fn panicked(&self) -> Option<TaskPanicked> {
        self.panics.first.lock().clone()
    }

    /// Returns when a task panics.
    pub(crate) async fn wait_panicked(&self) {
        self.panics.happened.cancelled().await;
    }

    /// Stops all tasks and waits for them.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl Panics {
    fn record(&self, panicked: TaskPanicked) {
        tracing::error!("{panicked}");
        self.first.lock().get_or_insert(panicked);
        self.happened.cancel();
    }
}

/// What `panic!` was called with.
pub(crate) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn first_panic_is_kept_for_every_group() {
        let tasks = Tasks::default();
        let group = tasks.group();
        tasks.spawn("quiet", async {});
        assert_eq!(tasks.panicked(), None);
        group.spawn("cache of machines", async { panic!("a bug in {}", "a subscriber") });
        let recorded = tokio::time::timeout(Duration::from_secs(30), tasks.wait_panicked());
        recorded.await.expect("the panic is recorded");
        let expected = TaskPanicked {
            task: "cache of machines".to_owned(),
            message: "a bug in a subscriber".to_owned(),
        };
        assert_eq!(tasks.panicked(), Some(expected.clone()));
        tasks.spawn("later", async { panic!("another") });
        tasks.stop().await;
        group.stop().await;
        assert_eq!(group.panicked(), Some(expected));
    }
}
