//! OpenShift, as far as these tests need it: settings of the cluster, and its own annotator.
//!
//! They are the cluster's and not a namespace's, so one test at a time takes place there. There are two such clusters,
//! because tests that wait for their turn took longer than all others.

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use machinist_control_plane::ControlPlane;
use machinist_testbed::cluster;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use super::world::Ec2World;

static CLUSTERS: [Cluster; 2] = [const { Cluster::new() }; 2];
static LATE: OnceCell<ControlPlane> = OnceCell::const_new();

const CONFIG: &str = "openshift-config-managed";
const CERTIFICATES: &str = "kube-cloud-config";
const MACHINE_API: &str = "openshift-machine-api";
const RIVAL: &str = "cluster-api-provider-aws-leader";

struct Cluster {
    control_plane: OnceCell<ControlPlane>,
    turn: Mutex<()>,
}

impl Cluster {
    const fn new() -> Self {
        Self { control_plane: OnceCell::const_new(), turn: Mutex::const_new(()) }
    }
}

impl Ec2World {
    /// A new namespace on OpenShift, without settings for EC2 and without OpenShift's own annotator.
    pub(crate) async fn openshift(name: &str) -> Result<Self> {
        let [one, other] = &CLUSTERS;
        let (cluster, turn) = tokio::select! {
            turn = one.turn.lock() => (one, turn),
            turn = other.turn.lock() => (other, turn),
        };
        let control_plane = cluster.control_plane.get_or_try_init(start_openshift).await?;
        let world = Self::on(control_plane, name, Some(turn)).await?;
        let now = DeleteParams::default();
        // What a former test left. Its sets would be seen by a process that looks everywhere.
        drop(world.rivals_leases().delete(RIVAL, &now).await);
        drop(world.certificates().delete(CERTIFICATES, &now).await);
        drop(world.cluster_objects("FeatureGate", "featuregates").delete("cluster", &now).await);
        let sets = Api::<DynamicObject>::all_with(world.client.clone(), &cluster::machine_sets());
        for set in sets.list(&ListParams::default()).await? {
            let namespace = set.metadata.namespace.context("a namespace")?;
            let sets = Api::<DynamicObject>::namespaced_with(
                world.client.clone(),
                &namespace,
                &cluster::machine_sets(),
            );
            sets.delete(&set.metadata.name.context("a name")?, &now).await?;
        }
        Ok(world)
    }

    /// A new namespace on a cluster that is not OpenShift yet. For one test only.
    pub(crate) async fn before_openshift(name: &str) -> Result<Self> {
        Self::on(LATE.get_or_try_init(cluster::control_plane).await?, name, None).await
    }

    /// From now on it is.
    pub(crate) async fn become_openshift(&self) -> Result<()> {
        let late = LATE.get().context("before_openshift comes first")?;
        install_openshift(late).await
    }

    /// Sets the endpoint of EC2 in OpenShift's Infrastructure.
    pub(crate) async fn point_to(&self, endpoint: &str) -> Result<()> {
        let endpoints = json!([
            {"name": "s3", "url": "https://127.0.0.1:9"},
            {"name": "ec2", "url": endpoint},
        ]);
        self.set_infrastructure(
            json!({"platformStatus": {"type": "AWS", "aws": {"serviceEndpoints": endpoints}}}),
        )
        .await
    }

    /// Gives the Infrastructure this status.
    pub(crate) async fn set_infrastructure(&self, status: Value) -> Result<()> {
        self.put_status("Infrastructure", "infrastructures", status).await
    }

    /// Gives OpenShift's FeatureGate these entries, one per version: its name, what it enables and what it disables.
    pub(crate) async fn set_gates(&self, versions: &[(&str, &[&str], &[&str])]) -> Result<()> {
        let names = |gates: &[&str]| gates.iter().map(|name| json!({"name": name})).collect();
        let entry = |(version, enabled, disabled): &(&str, &[&str], &[&str])| {
            let (enabled, disabled): (Value, Value) = (names(enabled), names(disabled));
            json!({"version": version, "enabled": enabled, "disabled": disabled})
        };
        let gates: Value = versions.iter().map(entry).collect();
        self.put_status("FeatureGate", "featuregates", json!({"featureGates": gates})).await
    }

    async fn put_status(&self, kind: &str, plural: &str, status: Value) -> Result<()> {
        let objects = self.cluster_objects(kind, plural);
        let object = DynamicObject::new("cluster", &resource(kind, plural));
        let object = object.data(json!({"status": status.clone()}));
        match objects.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(error)) if error.code == 409 => {
                let patch = Patch::Merge(json!({"status": status}));
                objects.patch("cluster", &PatchParams::default(), &patch).await?;
            }
            other => drop(other?),
        }
        Ok(())
    }

    fn cluster_objects(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource(kind, plural))
    }

    /// Makes OpenShift trust a CA.
    pub(crate) async fn trust(&self, pem: &str) -> Result<()> {
        let map: ConfigMap = serde_json::from_value(
            json!({"metadata": {"name": CERTIFICATES}, "data": {"ca-bundle.pem": pem}}),
        )?;
        self.certificates().create(&PostParams::default(), &map).await?;
        Ok(())
    }

    fn certificates(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), CONFIG)
    }

    /// OpenShift's own annotator renews its Lease.
    pub(crate) async fn renew_rival(&self) -> Result<()> {
        self.put_rival("rival", Timestamp::now()).await
    }

    /// The Lease of OpenShift's own annotator is held by this one, who renewed it at this time.
    pub(crate) async fn put_rival(&self, holder: &str, renewed: Timestamp) -> Result<()> {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": RIVAL},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 120, "renewTime": format!("{renewed:.6}")},
        });
        let user = PatchParams::apply("rival").force();
        self.rivals_leases().patch(RIVAL, &user, &Patch::Apply(lease)).await?;
        Ok(())
    }

    /// OpenShift's own annotator is taken away.
    pub(crate) async fn remove_rival(&self) -> Result<()> {
        self.rivals_leases().delete(RIVAL, &DeleteParams::default()).await?;
        Ok(())
    }

    fn rivals_leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), MACHINE_API)
    }
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

async fn start_openshift() -> Result<ControlPlane> {
    let control_plane = cluster::control_plane().await?;
    install_openshift(&control_plane).await?;
    Ok(control_plane)
}

/// What makes a cluster OpenShift, as far as these tests need it.
async fn install_openshift(control_plane: &ControlPlane) -> Result<()> {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    for (kind, plural) in [("Infrastructure", "infrastructures"), ("FeatureGate", "featuregates")] {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.config.openshift.io")},
            "spec": {
                "group": "config.openshift.io",
                "scope": "Cluster",
                "names": {"kind": kind, "plural": plural},
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": anything},
                }],
            },
        });
        control_plane.install_crds(&crd.to_string()).await?;
    }
    let client = control_plane.client()?;
    for namespace in [CONFIG, MACHINE_API] {
        cluster::create_namespace(&client, namespace).await?;
    }
    Ok(())
}
