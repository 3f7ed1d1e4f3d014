//! "Create, change type, break and repair the Secret, delete" for five MachineSets, with EC2 on moto.

use anyhow::Result;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_api::machine_set::MachineSet;
use machinist_control_plane::ControlPlane;
use machinist_testbed::World;
use machinist_testbed::crash::Scenario;
use serde_json::{Value, json};

use crate::sets;

/// Name, first instance type, second one, and the one that it gets while the secret is broken.
const SETS: [(&str, &str, &str, &str); 5] = [
    ("a", "m6i.large", "m6i.xlarge", "m5.4xlarge"),
    ("b", "m6g.large", "g5.xlarge", "c7g.large"),
    ("c", "p4d.24xlarge", "g5.xlarge", "m5.large"),
    ("d", "m5.4xlarge", "m6i.large", "m6i.xlarge"),
    ("e", "m5.large", "m5.4xlarge", "m6g.large"),
];

/// OpenShift's own definition is much longer; this is what is read of it.
const INFRASTRUCTURES: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"infrastructures.config.openshift.io"},"spec":{"group":"config.openshift.io","scope":"Cluster",
"names":{"kind":"Infrastructure","listKind":"InfrastructureList",
"plural":"infrastructures","singular":"infrastructure"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
"x-kubernetes-preserve-unknown-fields":true}}}]}}"#;

/// Sets the endpoint of EC2 in the Infrastructure, for every world of the cluster.
pub(crate) async fn point_at(control_plane: &ControlPlane, endpoint: &str) -> Result<()> {
    control_plane.install_crds(INFRASTRUCTURES).await?;
    let kind = ApiResource::from_gvk_with_plural(
        &kube::core::GroupVersionKind::gvk("config.openshift.io", "v1", "Infrastructure"),
        "infrastructures",
    );
    let client: Client = control_plane.client()?;
    let infrastructure = DynamicObject::new("cluster", &kind).data(json!({
        "status": {"platformStatus": {"type": "AWS", "aws": {
            "serviceEndpoints": [{"name": "ec2", "url": endpoint}],
        }}},
    }));
    Api::all_with(client, &kind).create(&PostParams::default(), &infrastructure).await?;
    Ok(())
}

pub(crate) struct BrokenSecret;

impl Scenario for BrokenSecret {
    fn name(&self) -> &'static str {
        "broken-secret"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let api: Api<MachineSet> = world.api();
        let secrets: Api<Secret> = world.api();
        let keys = json!({"aws_access_key_id": "AKIATEST", "aws_secret_access_key": "x"});
        let secret = json!({"metadata": {"name": "aws"}, "stringData": keys});
        secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
        for (name, first, ..) in SETS {
            let spec = json!({
                "kind": "AWSMachineProviderConfig",
                "instanceType": first,
                "placement": {"region": "eu-west-1"},
                "credentialsSecret": {"name": "aws"},
            });
            api.create(&PostParams::default(), &sets::machine_set(name, &spec)?).await?;
        }
        for (name, first, ..) in SETS {
            sets::until_annotated(world, name, first).await?;
        }
        for (name, _, second, _) in SETS {
            sets::change_type(&api, name, second).await?;
        }
        for (name, _, second, _) in SETS {
            sets::until_annotated(world, name, second).await?;
        }

        let broken = json!({"data": null});
        secrets.patch("aws", &PatchParams::default(), &Patch::Merge(&broken)).await?;
        for (name, _, _, third) in SETS {
            sets::change_type(&api, name, third).await?;
        }
        for (name, ..) in SETS {
            sets::is_refused(world, name, "ReconcileError").await?;
        }
        let repaired = json!({"stringData": keys});
        secrets.patch("aws", &PatchParams::default(), &Patch::Merge(&repaired)).await?;
        for (name, _, _, third) in SETS {
            sets::until_annotated(world, name, third).await?;
        }
        sets::delete(world, SETS.map(|(name, ..)| name)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        sets::end_state(world).await
    }
}
