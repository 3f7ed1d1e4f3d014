use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use machinist_control_plane::ControlPlane;
use machinist_testbed::audit::AuditLog;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::cluster;

use crate::Options;
use crate::audit_window::AuditWindow;
use crate::fleet::Fleet;
use crate::machinist::{Program, Role};
use crate::raw::Bare;

const BREATH: Duration = Duration::from_secs(2);

/// `bench` beside the folder of this executable, so `target/bench`.
pub(crate) fn output_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(|profile| profile.parent());
    let folder = target.context("this executable is in no target folder")?.join("bench");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) control_plane: ControlPlane,
    /// Under a name that no measurement counts.
    pub(crate) setup: Bare,
}

impl Cluster {
    pub(crate) async fn start() -> Result<Self> {
        Self::on(ControlPlane::start().await?).await
    }

    pub(crate) async fn on(control_plane: ControlPlane) -> Result<Self> {
        cluster::install_crds(&control_plane).await?;
        let setup = Bare::new(control_plane.kube_config(), "bench-setup")?;
        Ok(Self { control_plane, setup })
    }

    pub(crate) fn kubeconfig(&self) -> String {
        self.control_plane.kubeconfig_path().display().to_string()
    }

    pub(crate) fn audit_window(&self) -> Result<AuditWindow> {
        AuditWindow::open(AuditLog::of(&self.control_plane))
    }
}

#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) cluster: Cluster,
    cloud: AwsBed,
    pub(crate) program: Program,
    fleets: AtomicU32,
}

impl Bed {
    pub(crate) async fn start(options: &Options) -> Result<Self> {
        let (cluster, cloud) = (Cluster::start().await?, AwsBed::start().await?);
        let role = Role {
            // Every MachineSet of this cluster, and no other cluster.
            flags: vec![
                format!("--control-kubeconfig={}", cluster.kubeconfig()),
                "--target-kubeconfig=none".to_owned(),
            ],
            environment: vec![("AWS_ENDPOINT_URL", cloud.endpoint_url())],
        };
        let log = output_folder()?.join("machinist.log");
        let program = Program::find(role, options, log)?;
        Ok(Self { cluster, cloud, program, fleets: AtomicU32::new(0) })
    }

    /// Without annotations.
    pub(crate) async fn fleet(&self, count: usize) -> Result<Fleet> {
        Fleet::create(&self.cluster.setup, self.fleets.fetch_add(1, Ordering::Relaxed), count).await
    }

    pub(crate) fn cloud_calls(&self) -> usize {
        self.cloud.front().calls().len()
    }

    /// Lets the API server finish what the last step left behind (closed connections, collected garbage).
    pub(crate) async fn quiet(&self) {
        tokio::time::sleep(BREATH).await;
    }
}
