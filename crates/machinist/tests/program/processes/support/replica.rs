//! A process with a proxy of its own: what it asked for and what came of it is in the proxy's log.

use std::time::Duration;

use anyhow::{Result, ensure};
use machinist_testbed::faults::{LogEntry, Match, Proxy, Verb};

use super::process::Process;
use super::world::AnnotatorWorld;

/// The series that shows whether a process leads.
pub(crate) const LEADER: &str = r#"machinist_leader{controller="annotator"}"#;

/// A process and its way to the API server.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) process: Process,
    pub(crate) proxy: Proxy,
}

impl Replica {
    /// Starts a process that looks at the world's namespace alone, and waits until it listens.
    pub(crate) async fn start(world: &AnnotatorWorld, flags: &[&str]) -> Result<Self> {
        Self::behind(world.another_proxy().await?, world, flags).await
    }

    /// Starts a process behind a proxy that has its rules already.
    pub(crate) async fn behind(
        proxy: Proxy,
        world: &AnnotatorWorld,
        flags: &[&str],
    ) -> Result<Self> {
        let flags = [&["--namespace", &world.namespace], flags].concat();
        let process = Process::start(&proxy.kubeconfig(), &world.namespace, &flags).await?;
        Ok(Self { process, proxy })
    }

    /// Starts a process that needs the lease, which lasts this long.
    pub(crate) async fn electing(
        world: &AnnotatorWorld,
        lease: &str,
        flags: &[&str],
    ) -> Result<Self> {
        Self::electing_behind(world.another_proxy().await?, world, lease, flags).await
    }

    /// Starts a process that needs the lease behind a proxy that has its rules already.
    pub(crate) async fn electing_behind(
        proxy: Proxy,
        world: &AnnotatorWorld,
        lease: &str,
        flags: &[&str],
    ) -> Result<Self> {
        let electing = [
            "--leader-elect",
            "--leader-elect-resource-namespace",
            &world.namespace,
            "--leader-elect-lease-duration",
            lease,
        ];
        Self::behind(proxy, world, &[&electing, flags].concat()).await
    }

    /// Whether its metric shows that it leads.
    pub(crate) async fn leads(&self) -> Result<bool> {
        Ok(self.process.metric(LEADER).await? == Some(1.0))
    }

    /// Writes that succeeded and were not over before `since` (on the scale of the proxy's log).
    pub(crate) fn effects_since(&self, since: Duration) -> Vec<LogEntry> {
        let mut writes = self.proxy.log().matching(&Match::writes());
        writes.retain(|entry| {
            let over = entry.took.is_some_and(|took| entry.at + took < since);
            !over && entry.status.is_some_and(|status| status < 300)
        });
        writes
    }

    /// PATCHes of MachineSets, in whatever state.
    pub(crate) fn patches(&self) -> Vec<LogEntry> {
        self.proxy.log().matching(&Match::any().verbs([Verb::Patch]).resource("machinesets"))
    }

    /// The user agent of every request names the part of machinist and the version.
    pub(crate) fn ensure_user_agents(&self) -> Result<()> {
        let version = concat!("/", env!("CARGO_PKG_VERSION"));
        for entry in self.proxy.log().entries() {
            let agent = &entry.request.user_agent;
            ensure!(agent.starts_with("machinist-") && agent.ends_with(version), "{entry}");
        }
        Ok(())
    }
}
