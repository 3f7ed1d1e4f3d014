//! A Go program that wants a Lease: kube-controller-manager, whose leader election is the one that OpenShift's
//! controllers use (client-go). It is given one harmless controller and whatever Lease a test is about.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::ControlPlane;
use machinist_control_plane::binaries::{Binary, Sources};
use machinist_testbed::poll;
use machinist_testbed::process::{Launch, Process};

use super::time::PATIENCE;
use super::world::AnnotatorWorld;

const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/processes");

/// How long its Lease lasts without being renewed.
pub(crate) const GO_DURATION: Duration = Duration::from_secs(8);

/// A running Go program. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct GoProgram {
    process: Process,
}

impl GoProgram {
    /// Starts it; it waits for the Lease as long as another process holds it.
    pub(crate) async fn start(
        control_plane: &ControlPlane,
        world: &AnnotatorWorld,
        lease: &str,
    ) -> Result<Self> {
        let program = Sources::from_env()?.find(Binary::KubeControllerManager, None).await?;
        let mut launch = Launch::new(program, LOGS, &format!("go-{}", world.namespace))?;
        launch
            .command
            .arg("--kubeconfig")
            .arg(control_plane.kubeconfig_path())
            .args(["--controllers=clusterrole-aggregation-controller", "--secure-port=0"])
            .args(["--leader-elect-resource-name", lease])
            .args(["--leader-elect-resource-namespace", &world.namespace])
            .args(["--leader-elect=true", "--leader-elect-lease-duration=8s"])
            .args(["--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=500ms"]);
        Ok(Self { process: launch.start().context("kube-controller-manager")? })
    }

    /// Waits until it has the Lease, and returns what it calls itself.
    pub(crate) async fn holds(
        &self,
        world: &AnnotatorWorld,
        lease: &str,
        not: &str,
    ) -> Result<String> {
        poll::eventually(PATIENCE, "the Go program to hold the Lease", || async {
            let spec = world.leases().get(lease).await?.spec.context("a spec")?;
            let holder = spec.holder_identity.unwrap_or_default();
            ensure!(!holder.is_empty() && holder != not, "{holder:?} has it: {}", self.output());
            Ok(holder)
        })
        .await
    }

    /// Fails if it has ended.
    pub(crate) fn ensure_alive(&mut self) -> Result<()> {
        self.process.ensure_alive().with_context(|| format!("the Go program: {}", self.output()))
    }

    /// Waits until it ends by itself, which it does when it loses its Lease.
    pub(crate) async fn wait_ended(&mut self) -> Result<()> {
        self.process.ended().await.context("the Go program goes on without its Lease")?;
        ensure!(self.output().contains("leaderelection lost"), "{}", self.output());
        Ok(())
    }

    /// Kills it, which gives nothing back.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.process.kill().await
    }

    fn output(&self) -> String {
        self.process.log().unwrap_or_default()
    }
}
