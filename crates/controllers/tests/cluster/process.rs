//! A process with controllers of machines, on a tokio runtime of its own, so that it can be killed with its calls
//! pending.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use machinist_controllers::kinds::Nodes;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Scope;
use machinist_runtime::controller::start::Shared;
use machinist_testbed::crash::Launch;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::controllers::Setup;

/// A process that runs. Dropping it kills it.
pub(crate) struct Process {
    /// Who it is for the leases.
    pub(crate) identity: String,
    runtime: Option<Runtime>,
    running: JoinHandle<()>,
    stop: CancellationToken,
    shared: Arc<Shared>,
}

impl Process {
    pub(crate) fn start(setup: Setup<'_>, launch: &Launch) -> Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let within = runtime.enter();
        let identity = setup.identity.clone();
        let (manager, controllers) = setup.process(launch)?;
        let (shared, stop) = (Arc::clone(manager.shared()), CancellationToken::new());
        let token = stop.clone();
        let running = runtime.spawn(async move { manager.run(controllers, token).await.unwrap() });
        drop(within);
        Ok(Self { identity, runtime: Some(runtime), running, stop, shared })
    }

    /// How often something was counted: the sum of all lines of a metric that have all of these words.
    pub(crate) fn count(&self, metric: &str, words: &[&str]) -> u64 {
        let text = self.shared.metrics.encode(&[]).unwrap();
        let lines = text.lines().filter(|line| line.starts_with(metric));
        let counted = lines.filter(|line| words.iter().all(|word| line.contains(word)));
        counted.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    }

    /// How many writes to Kubernetes were carried out.
    pub(crate) fn writes(&self) -> u64 {
        self.count("machinist_writes_total", &["result=\"done\""])
    }

    /// How many reconciles of Machines there were.
    pub(crate) fn reconciles(&self) -> u64 {
        self.count("machinist_reconcile_total", &["controller=\"machine\""])
    }

    /// Whether its cache has this Node.
    pub(crate) fn sees_node(&self, name: &str) -> bool {
        let cluster = self.shared.target.as_ref().unwrap_or(&self.shared.control);
        let nodes = self.shared.caches.open(cluster, Scope::All, Nodes);
        nodes.get(&ObjectKey::new("", name)).is_some()
    }

    /// The answer of `/readyz`.
    pub(crate) fn readiness(&self) -> (bool, String) {
        self.shared.readiness.describe(&self.shared.caches.all())
    }

    /// Ends it as SIGTERM does.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        (&mut self.running).await.unwrap();
    }

    /// Ends it as `kill -9` does; nothing of it runs any more afterwards.
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
