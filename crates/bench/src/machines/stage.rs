//! Where one run happens: an API server and a simulated cloud of its own, so that no run finds what another one left.

use anyhow::{Context, Result};
use machinist_control_plane::ControlPlane;
use machinist_provider_sim::ENDPOINT_VARIABLE;
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use machinist_provider_sim::server::{SimCloud, SimServer};
use machinist_testbed::audit::AuditLog;
use machinist_testbed::cluster;
use machinist_testbed::ownership;

use super::live::Work;
use crate::Options;
use crate::audit_window::AuditWindow;
use crate::bed;
use crate::machinist::{Program, Role};
use crate::raw::Bare;

/// What the audit log says of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audit {
    /// That there was one.
    Metadata,
    /// Also what was written. It slows the API server down, so nothing is timed with it.
    Bodies,
}

/// An API server that knows our kinds and has no objects, and a cloud without instances.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) control_plane: ControlPlane,
    pub(super) cloud: SimCloud,
    server: SimServer,
    _kubelets: Kubelets,
    /// Creates, scales and looks, under a name that no measurement counts.
    pub(super) setup: Bare,
}

impl Stage {
    pub(super) async fn start(audit: Audit) -> Result<Self> {
        let control_plane = match audit {
            Audit::Metadata => ControlPlane::start().await?,
            Audit::Bodies => ownership::control_plane().await?,
        };
        cluster::install_crds(&control_plane).await?;
        let cloud = SimCloud::new(1, 1.0);
        let server = SimServer::start(&cloud).await.context("a simulated cloud")?;
        let config = control_plane.kube_config();
        let kubelets = Kubelets::start(&cloud, config.clone(), KubeletOptions::default())?;
        let setup = Bare::new(config, "bench-setup")?;
        Ok(Self { control_plane, cloud, server, _kubelets: kubelets, setup })
    }

    /// The program with the controllers that this work takes.
    pub(super) fn program(&self, work: Work, options: &Options) -> Result<Program> {
        let role = Role {
            flags: vec![
                format!("--controllers={}", work.controllers()),
                "--leader-elect=false".to_owned(),
            ],
            environment: vec![
                ("KUBECONFIG", bed::kubeconfig(&self.control_plane)),
                (ENDPOINT_VARIABLE, self.server.url()),
            ],
        };
        let log = bed::output_folder()?.join("machines.log");
        Program::find(role, options, log)
    }

    /// What reaches the API server from now on.
    pub(super) fn audit_window(&self) -> Result<AuditWindow> {
        AuditWindow::open(AuditLog::of(&self.control_plane))
    }

    /// How many calls the cloud has had so far.
    pub(super) fn cloud_calls(&self) -> usize {
        let calls: u64 = self.cloud.calls().values().sum();
        usize::try_from(calls).unwrap_or(usize::MAX)
    }
}
