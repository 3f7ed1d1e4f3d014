use anyhow::Result;
use machinist_api::resource::MACHINE_SETS;
use machinist_testbed::aws::{AwsBed, Estate};
use serde_json::json;

use crate::Options;
use crate::bed::{self, Cluster};
use crate::machinist::{Program, Role};
use crate::raw::Outgoing;

pub(super) const REGION: &str = "us-east-2";
pub(super) const CLUSTER: &str = "bench";
const NAMESPACE: &str = "bench-aws";
const SET: &str = "workers";

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    cloud: AwsBed,
    estate: Estate,
}

impl Stage {
    pub(super) async fn start() -> Result<Self> {
        let cluster = Cluster::start().await?;
        let cloud = AwsBed::start().await?;
        let estate = Estate::found(cloud.moto(), REGION, CLUSTER).await?;
        cluster.setup.create_namespace(NAMESPACE).await?;
        Ok(Self { cluster, cloud, estate })
    }

    pub(super) fn program(&self, options: &Options) -> Result<Program> {
        let role = Role {
            flags: vec![
                "--controllers=machine,machineset".to_owned(),
                "--leader-elect=false".to_owned(),
                format!("--cluster-id={CLUSTER}"),
            ],
            environment: vec![
                ("KUBECONFIG", self.cluster.kubeconfig()),
                ("AWS_ENDPOINT_URL", self.cloud.endpoint_url()),
                ("AWS_ACCESS_KEY_ID", "AKIABENCH".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "bench".to_owned()),
            ],
        };
        let log = bed::output_folder()?.join("aws.log");
        Program::find(role, options, log)
    }

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
        self.cluster.setup.send(Outgoing::create(path, &body)).await?;
        Ok(())
    }

    pub(super) async fn provisioned(&self) -> Result<usize> {
        let phases = self.cluster.setup.machine_phases().await?;
        Ok(phases.iter().filter(|phase| *phase == "Provisioned").count())
    }

    pub(super) async fn instances(&self) -> Result<usize> {
        Ok(self.estate.live().await?.len())
    }

    pub(super) fn cloud_calls(&self) -> Vec<String> {
        self.cloud.front().calls().into_iter().map(|call| call.action).collect()
    }
}
