//! Where a run takes place: an API server that knows our kinds and has no objects, and an estate in EC2 without
//! instances.

use anyhow::Result;
use machinist_api::resource::{MACHINE_SETS, MACHINES};
use machinist_control_plane::ControlPlane;
use machinist_testbed::audit::AuditLog;
use machinist_testbed::aws::{AwsBed, Estate};
use machinist_testbed::cluster;
use serde::Deserialize;
use serde_json::json;

use crate::Options;
use crate::audit_window::AuditWindow;
use crate::bed;
use crate::machinist::{Program, Role};
use crate::raw::{Bare, Outgoing};

pub(super) const REGION: &str = "us-east-2";
pub(super) const CLUSTER: &str = "bench";
const NAMESPACE: &str = "bench-aws";
const SET: &str = "workers";

#[derive(Debug)]
pub(super) struct Stage {
    control_plane: ControlPlane,
    cloud: AwsBed,
    estate: Estate,
    /// Creates and looks, under a name that no measurement counts.
    setup: Bare,
}

impl Stage {
    pub(super) async fn start() -> Result<Self> {
        let control_plane = ControlPlane::start().await?;
        cluster::install_crds(&control_plane).await?;
        let cloud = AwsBed::start().await?;
        let estate = Estate::found(cloud.moto(), REGION, CLUSTER).await?;
        let setup = Bare::new(control_plane.kube_config(), "bench-setup")?;
        let metadata = json!({"name": NAMESPACE});
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        setup.send(Outgoing::create("/api/v1/namespaces".to_owned(), &body)).await?;
        Ok(Self { control_plane, cloud, estate, setup })
    }

    /// The program with the controllers that bring machines to Provisioned.
    pub(super) fn program(&self, options: &Options) -> Result<Program> {
        let role = Role {
            flags: vec![
                "--controllers=machine,machineset".to_owned(),
                "--leader-elect=false".to_owned(),
                format!("--cluster-id={CLUSTER}"),
            ],
            environment: vec![
                ("KUBECONFIG", bed::kubeconfig(&self.control_plane)),
                ("AWS_ENDPOINT_URL", self.cloud.endpoint_url()),
                ("AWS_ACCESS_KEY_ID", "AKIABENCH".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "bench".to_owned()),
            ],
        };
        let log = bed::output_folder()?.join("aws.log");
        Program::find(role, options, log)
    }

    /// A MachineSet that wants so many machines.
    pub(super) async fn create_set(&self, machines: usize) -> Result<()> {
        let labels = json!({
            "machine.openshift.io/cluster-api-cluster": CLUSTER,
            "machine.openshift.io/cluster-api-machineset": SET,
        });
        let body = json!({
            "apiVersion": MACHINE_SETS.api_version(),
            "kind": MACHINE_SETS.kind,
            "metadata": {"name": SET},
            "spec": {
                "replicas": machines,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"providerSpec": {"value": self.estate.spec(&json!({}))}},
                },
            },
        });
        let path = MACHINE_SETS.collection_path(Some(NAMESPACE));
        self.setup.send(Outgoing::create(path, &body)).await?;
        Ok(())
    }

    /// How many machines are Provisioned.
    pub(super) async fn provisioned(&self) -> Result<usize> {
        #[derive(Deserialize)]
        struct Machine {
            #[serde(default)]
            status: Status,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Status {
            phase: String,
        }
        let all: Vec<Machine> = self.setup.list(MACHINES.collection_path(None)).await?;
        Ok(all.iter().filter(|machine| machine.status.phase == "Provisioned").count())
    }

    /// How many instances there are.
    pub(super) async fn instances(&self) -> Result<usize> {
        Ok(self.estate.live().await?.len())
    }

    /// What reaches the API server from now on.
    pub(super) fn audit_window(&self) -> Result<AuditWindow> {
        AuditWindow::open(AuditLog::of(&self.control_plane))
    }

    /// The actions that the cloud was asked for so far.
    pub(super) fn cloud_calls(&self) -> Vec<String> {
        self.cloud.front().calls().into_iter().map(|call| call.action).collect()
    }
}
