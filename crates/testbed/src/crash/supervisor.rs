use anyhow::Result;
use tokio::sync::{Mutex, watch};

use super::{Launch, Running, Subject};

pub(super) struct Supervisor<'a, S: Subject> {
    subject: &'a S,
    launch: Launch,
    current: Mutex<Option<S::Running>>,
    restarts: watch::Sender<u32>,
}

impl<'a, S: Subject> Supervisor<'a, S> {
    pub(super) async fn start(subject: &'a S, launch: Launch) -> Result<Self> {
        let current = Mutex::new(Some(subject.start(&launch).await?));
        Ok(Self { subject, launch, current, restarts: watch::Sender::new(0) })
    }

    /// `between` runs while there is no instance.
    pub(super) async fn restart(&self, between: impl Future<Output = Result<()>>) -> Result<()> {
        let mut current = self.current.lock().await;
        if let Some(running) = current.take() {
            running.kill().await?;
        }
        between.await?;
        *current = Some(self.subject.start(&self.launch).await?);
        self.restarts.send_modify(|restarts| *restarts += 1);
        Ok(())
    }

    pub(super) async fn restarted(&self, times: u32) {
        let mut restarts = self.restarts.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        drop(restarts.wait_for(|restarts| *restarts >= times).await);
    }

    /// Returns how it had ended by itself, if it had.
    pub(super) async fn stop(self) -> Result<Option<String>> {
        match self.current.into_inner() {
            Some(running) => running.kill().await,
            None => Ok(None),
        }
    }
}
