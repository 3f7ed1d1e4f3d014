//! A Go program that wants a Lease: kube-controller-manager, whose leader election is the one that OpenShift's
//! controllers use (client-go). It is given one harmless controller and whatever Lease a test is about.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::binaries::{Binary, Sources};
use machinist_control_plane::{ControlPlane, children};
use machinist_testbed::poll;
use tokio::process::{Child, Command};

use super::scene::Scene;
use super::time::PATIENCE;

const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/processes");

/// How long its Lease lasts without being renewed.
pub(crate) const GO_DURATION: Duration = Duration::from_secs(4);

/// A running Go program. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct GoProgram {
    child: Child,
    log: PathBuf,
}

impl GoProgram {
    /// Starts it; it waits for the Lease as long as another process holds it.
    pub(crate) async fn start(
        control_plane: &ControlPlane,
        scene: &Scene,
        lease: &str,
    ) -> Result<Self> {
        let program = Sources::from_env()?.find(Binary::KubeControllerManager, None).await?;
        std::fs::create_dir_all(LOGS)?;
        let log = PathBuf::from(LOGS).join(format!("go-{}.log", scene.namespace));
        let mut command = Command::new(program);
        command
            .arg("--kubeconfig")
            .arg(control_plane.kubeconfig_path())
            .args(["--controllers=clusterrole-aggregation-controller", "--secure-port=0"])
            .args(["--leader-elect-resource-name", lease])
            .args(["--leader-elect-resource-namespace", &scene.namespace])
            .args(["--leader-elect=true", "--leader-elect-lease-duration=4s"])
            .args(["--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?);
        let child = children::spawn(&mut command).context("kube-controller-manager")?;
        Ok(Self { child, log })
    }

    /// Waits until it has the Lease, and returns what it calls itself.
    pub(crate) async fn holds(&self, scene: &Scene, lease: &str, not: &str) -> Result<String> {
        poll::eventually(PATIENCE, "the Go program to hold the Lease", || async {
            let spec = scene.leases().get(lease).await?.spec.context("a spec")?;
            let holder = spec.holder_identity.unwrap_or_default();
            ensure!(!holder.is_empty() && holder != not, "{holder:?} has it: {}", self.said());
            Ok(holder)
        })
        .await
    }

    /// Fails if it has ended.
    pub(crate) fn ensure_alive(&mut self) -> Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "the Go program has ended: {}", self.said());
        Ok(())
    }

    /// Waits until it ends by itself, which it does when it loses its Lease.
    pub(crate) async fn wait_ended(&mut self) -> Result<()> {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.context("the Go program goes on without its Lease")??;
        ensure!(self.said().contains("leaderelection lost"), "{}", self.said());
        Ok(())
    }

    /// Kills it, which gives nothing back.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.context("kill -9")
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}
