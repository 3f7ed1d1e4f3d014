//! Every run has an API server and a cloud of its own, so that it does not find what another one left.

use anyhow::Result;
use machinist_control_plane::ControlPlane;
use machinist_provider_sim::ENDPOINT_VARIABLE;
use machinist_testbed::ownership;
use machinist_testbed::world::WorldCloud;

use crate::Options;
use crate::bed::{self, Cluster};
use crate::machinist::{Program, Role};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audit {
    Metadata,
    /// These slow the API server down, so nothing is timed with them.
    Bodies,
}

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    pub(super) cloud: WorldCloud,
}

impl Stage {
    pub(super) async fn start(audit: Audit) -> Result<Self> {
        let control_plane = match audit {
            Audit::Metadata => ControlPlane::start().await?,
            Audit::Bodies => ownership::control_plane().await?,
        };
        let cluster = Cluster::on(control_plane).await?;
        let cloud = WorldCloud::start(&cluster.control_plane.kube_config(), 1.0).await?;
        Ok(Self { cluster, cloud })
    }

    pub(super) fn program(&self, controllers: &str, options: &Options) -> Result<Program> {
        let role = Role {
            flags: vec![format!("--controllers={controllers}"), "--leader-elect=false".to_owned()],
            environment: vec![
                ("KUBECONFIG", self.cluster.kubeconfig()),
                (ENDPOINT_VARIABLE, self.cloud.endpoint.clone()),
            ],
        };
        let log = bed::output_folder()?.join("machines.log");
        Program::find(role, options, log)
    }

    pub(super) fn cloud_calls(&self) -> usize {
        let calls: u64 = self.cloud.sim.calls().values().sum();
        usize::try_from(calls).unwrap_or(usize::MAX)
    }
}
