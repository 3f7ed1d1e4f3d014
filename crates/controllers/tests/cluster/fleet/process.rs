//! A process with all controllers of machines, on a tokio runtime of its own, so that it can be killed with its calls
//! pending.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::timings::Timings;
use machinist_testbed::crash::Launch;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::controllers::Setup;

/// How much faster than life everything is here, the cloud included.
pub(crate) const SPEED: f64 = 50.0;

/// A fiftieth of life, apart from what a busy machine would turn into a failure. The resync does not come round.
pub(crate) fn timings() -> Timings {
    let usual = Timings::default();
    let mut quick = usual.scaled(SPEED.recip());
    quick.sync_period = usual.sync_period;
    quick.request = Duration::from_secs(2);
    quick.cloud_call = Duration::from_secs(2);
    quick.lease = Duration::from_secs(6);
    quick
}

fn machine_timings() -> MachineTimings {
    let usual = MachineTimings::default();
    MachineTimings {
        creation: Duration::from_hours(1),
        drain: Duration::from_hours(1),
        // Reconciles are not faster than in production; Machines whose reconciles follow each other are described
        // together.
        gather: usual.gather,
        ..usual.scaled(SPEED.recip())
    }
}

/// A process that runs. Dropping it kills it.
pub(crate) struct Process {
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
}

impl Process {
    pub(crate) fn start(launch: &Launch, timings: &Timings, elects: bool) -> Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let within = runtime.enter();
        let setup = Setup {
            controllers: &["machine", "machineset", "nodelink"],
            endpoint: launch.cloud.clone().unwrap_or_default(),
            namespace: &launch.namespace,
            elects,
            identity: "test".to_owned(),
            workers: None,
            obey_migration: false,
            machines: machine_timings(),
        };
        let (manager, controllers) = setup.process(launch.config()?, timings)?;
        let shared = Arc::clone(manager.shared());
        runtime.spawn(
            async move { manager.run(controllers, CancellationToken::new()).await.unwrap() },
        );
        drop(within);
        Ok(Self { runtime: Some(runtime), shared })
    }

    /// What it says at `/readyz`.
    pub(crate) fn readiness(&self) -> (bool, String) {
        self.shared.readiness.describe(&self.shared.caches.all())
    }

    /// As `kill -9` does; nothing of it runs any more afterwards.
    pub(crate) async fn kill(mut self) -> Result<()> {
        let patience = Duration::from_secs(5);
        if let Some(runtime) = self.runtime.take() {
            tokio::task::spawn_blocking(move || runtime.shutdown_timeout(patience)).await?;
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A runtime must not be dropped by waiting inside another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
