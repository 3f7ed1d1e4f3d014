use std::{fmt, time::Duration};

use anyhow::{Context, Result};
use futures::future::BoxFuture;
use tokio::{runtime::Runtime, task::JoinHandle};

use super::{Launch, Running, Subject};

/// Two, so that the tasks really run in parallel.
const WORKER_THREADS: usize = 2;
/// For blocking calls of a dead instance.
const BLOCKING_CALLS: Duration = Duration::from_secs(5);

type Main = dyn Fn(Launch) -> BoxFuture<'static, Result<()>> + Send + Sync;

pub struct RuntimeSubject(Box<Main>);

impl RuntimeSubject {
    /// `main` is the whole program; it should only return when it gives up.
    pub fn new<M, F>(main: M) -> Self
    where
        M: Fn(Launch) -> F + Send + Sync + 'static,
        F: Future<Output = Result<()>> + Send + 'static,
    {
        Self(Box::new(move |launch| Box::pin(main(launch))))
    }
}

impl fmt::Debug for RuntimeSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RuntimeSubject")
    }
}

impl Subject for RuntimeSubject {
    type Running = RunningRuntime;

    async fn start(&self, launch: &Launch) -> Result<RunningRuntime> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKER_THREADS)
            .thread_name("subject")
            .enable_all()
            .build()
            .context("a runtime for the subject")?;
        let main = runtime.spawn((self.0)(launch.clone()));
        Ok(RunningRuntime { runtime: Some(runtime), main })
    }
}

#[derive(Debug)]
pub struct RunningRuntime {
    runtime: Option<Runtime>,
    main: JoinHandle<Result<()>>,
}

impl Running for RunningRuntime {
    async fn kill(mut self) -> Result<Option<String>> {
        let ended = self.main.is_finished();
        if let Some(runtime) = self.runtime.take() {
            // Waiting for the threads makes sure that nothing of the old instance runs beside the new one.
            tokio::task::spawn_blocking(move || runtime.shutdown_timeout(BLOCKING_CALLS))
                .await
                .context("ending the subject's runtime")?;
        }
        if !ended {
            return Ok(None);
        }
        Ok(Some(match (&mut self.main).await {
            Ok(Ok(())) => "the subject had returned".to_owned(),
            Ok(Err(error)) => format!("the subject had given up: {error:#}"),
            Err(error) => format!("the subject had panicked: {error}"),
        }))
    }
}

impl Drop for RunningRuntime {
    fn drop(&mut self) {
        // A runtime must not be dropped by waiting inside another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
