//! Liveness of the process: what `/healthz` checks. It fails if a task has panicked, and if a queue makes no progress
//! for [`Timings::stall`](crate::timings::Timings::stall): a worker has one key for so long, or keys are ready and no
//! worker takes one. A process that may not write has no workers and is healthy, and so is one whose API server does
//! not answer: a restart would not help.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::messages;
use crate::queue::Queue;
use crate::readiness::Mark;
use crate::tasks::Tasks;

#[derive(Debug)]
pub struct Health {
    tasks: Tasks,
    stall: Duration,
    queues: Mutex<BTreeMap<&'static str, Vec<Weak<Queue>>>>,
}

impl Health {
    /// Checks `tasks`, and queues that are added.
    pub(crate) fn new(tasks: Tasks, stall: Duration) -> Self {
        Self { tasks, stall, queues: Mutex::default() }
    }

    pub(crate) fn check_queue(&self, controller: &'static str, queue: &Arc<Queue>) {
        self.queues.lock().entry(controller).or_default().push(Arc::downgrade(queue));
    }

    /// Whether the process is healthy, and one line per check.
    pub fn describe(&self) -> (bool, String) {
        let panicked = self.tasks.panicked().map(|panicked| panicked.to_string());
        let mut text = line(panicked.as_deref(), messages::TASKS_RUN);
        let mut healthy = panicked.is_none();
        for (controller, queues) in &*self.queues.lock() {
            let queues: Vec<_> = queues.iter().filter_map(Weak::upgrade).collect();
            if queues.is_empty() {
                continue;
            }
            let stalled = queues.iter().find_map(|queue| queue.stalled(self.stall));
            let failure = stalled.map(|stalled| messages::stalled(controller, &stalled));
            text += &line(failure.as_deref(), &messages::queue_works(controller));
            healthy &= failure.is_none();
        }
        (healthy, text)
    }
}

fn line(failure: Option<&str>, success: &str) -> String {
    match failure {
        None => Mark::Passed.line(success),
        Some(failure) => Mark::Failed.line(failure),
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;

    use super::*;
    use crate::timings::Timings;

    const STALL: Duration = Duration::from_secs(60);

    fn health() -> (Health, Arc<Queue>, Tasks) {
        let (tasks, queue) = (Tasks::default(), Arc::new(Queue::new(Timings::default().retry)));
        let health = Health::new(tasks.clone(), STALL);
        health.check_queue("machine", &queue);
        (health, queue, tasks)
    }

    #[tokio::test]
    async fn panicked_task_is_unhealthy() {
        let (health, _queue, tasks) = health();
        assert!(health.describe().0, "{:?}", health.describe());
        tasks.spawn("lease ns/machine", async { panic!("a bug") });
        drop(tokio::time::timeout(Duration::from_secs(30), tasks.wait_panicked()).await);
        let (healthy, text) = health.describe();
        assert!(
            !healthy && text.contains("[-] task \"lease ns/machine\" panicked: a bug"),
            "{text}"
        );
        assert!(text.contains("[+] queue of controller machine"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn worker_that_keeps_one_key_is_unhealthy_until_it_ends() {
        let (health, queue, _) = health();
        queue.workers_run(true);
        queue.add(&ObjectKey::new("ns", "slow"));
        let slow = queue.take().await;
        // Another worker makes progress meanwhile.
        for _ in 0..6 {
            tokio::time::advance(STALL / 6).await;
            assert!(health.describe().0, "{:?}", health.describe());
            queue.add(&ObjectKey::new("ns", "quick"));
            let quick = queue.take().await;
            queue.done(&quick);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let (healthy, text) = health.describe();
        assert!(!healthy && text.contains("ns/slow"), "{text}");
        queue.done(&slow);
        assert!(health.describe().0, "{:?}", health.describe());
    }

    #[tokio::test(start_paused = true)]
    async fn ready_key_that_no_worker_takes_is_unhealthy_unless_there_are_no_workers() {
        let (health, queue, _) = health();
        queue.add_after(&ObjectKey::new("ns", "waits"), STALL / 2);
        tokio::time::advance(STALL * 10).await;
        assert!(health.describe().0, "a follower may not take keys: {:?}", health.describe());
        queue.workers_run(true);
        tokio::time::advance(STALL).await;
        assert!(health.describe().0, "the workers have just begun: {:?}", health.describe());
        tokio::time::advance(Duration::from_secs(1)).await;
        let (healthy, text) = health.describe();
        assert!(!healthy && text.contains("[-]") && text.contains("ns/waits"), "{text}");
        let key = queue.take().await;
        queue.done(&key);
        tokio::time::advance(STALL * 10).await;
        assert!(health.describe().0, "an empty queue: {:?}", health.describe());
    }
}
