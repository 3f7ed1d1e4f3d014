//! Where a test takes place: a namespace of its own on a real API server, and the user who creates and changes
//! MachineSets there.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_api::names;
use machinist_control_plane::ControlPlane;
use machinist_testbed::cluster;
use machinist_testbed::faults::Proxy;
use machinist_testbed::poll;
use serde_json::{Value, json};

use super::time::PATIENCE;
pub(crate) use crate::control_plane;

/// The Lease of the annotator.
pub(crate) const LEASE: &str = "machinist-annotator";

/// An instance type and how many vCPUs it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) instance_type: &'static str,
    pub(crate) vcpus: &'static str,
}

pub(crate) const SMALL: Shape = Shape { instance_type: "m6i.large", vcpus: "2" };
pub(crate) const LARGE: Shape = Shape { instance_type: "m6i.4xlarge", vcpus: "16" };
/// Not in the catalogue.
pub(crate) const UNKNOWN: Shape = Shape { instance_type: "m99.mega", vcpus: "" };

/// A namespace and its user.
pub(crate) struct Scene {
    pub(crate) namespace: String,
    pub(crate) client: Client,
    config: kube::Config,
}

impl Scene {
    /// A new namespace on the shared control plane.
    pub(crate) async fn new(name: &str) -> Result<Self> {
        Self::on(control_plane().await?, name).await
    }

    /// A new namespace on this control plane.
    pub(crate) async fn on(control_plane: &ControlPlane, name: &str) -> Result<Self> {
        let client = control_plane.client()?;
        let namespace = cluster::namespace(&client, name).await?;
        Ok(Self { namespace, client, config: control_plane.kube_config() })
    }

    /// The namespace of exactly this name, which must not exist yet.
    pub(crate) async fn called(control_plane: &ControlPlane, namespace: String) -> Result<Self> {
        let client = control_plane.client()?;
        cluster::create_namespace(&client, &namespace).await?;
        Ok(Self { namespace, client, config: control_plane.kube_config() })
    }

    /// A new proxy in front of the API server.
    pub(crate) async fn proxy(&self) -> Result<Proxy> {
        Proxy::start(&self.config).await
    }

    /// MachineSets, of whatever content.
    pub(crate) fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &cluster::machine_sets())
    }

    pub(crate) async fn create_set(&self, name: &str, shape: Shape) -> Result<()> {
        self.create_set_with(name, spec(shape)).await
    }

    pub(crate) async fn create_set_with(&self, name: &str, spec: Value) -> Result<()> {
        let object = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": {"name": name},
            "spec": spec,
        }))?;
        let created = self.sets().create(&PostParams::default(), &object).await;
        created.with_context(|| format!("creating {name}"))?;
        Ok(())
    }

    pub(crate) async fn change_set(&self, name: &str, shape: Shape) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": spec(shape)}));
        let changed = self.sets().patch(name, &PatchParams::default(), &patch).await;
        changed.with_context(|| format!("changing {name}"))?;
        Ok(())
    }

    pub(crate) async fn delete_set(&self, name: &str) -> Result<()> {
        self.sets().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// What the annotations of a set say about vCPUs; `None` unless all of them are there.
    pub(crate) async fn vcpus(&self, name: &str) -> Result<Option<String>> {
        let annotations = self.sets().get(name).await?.metadata.annotations.unwrap_or_default();
        let complete =
            [names::ANNOTATION_MEMORY, names::ANNOTATION_GPU, names::ANNOTATION_CAPACITY_LABELS]
                .iter()
                .all(|name| annotations.contains_key(*name));
        Ok(annotations.get(names::ANNOTATION_VCPU).filter(|_| complete).cloned())
    }

    /// Waits until the annotations of a set fit its shape, and returns how long that took.
    pub(crate) async fn annotated(&self, name: &str, shape: Shape) -> Result<Duration> {
        let start = Instant::now();
        let what = format!("{name} to be annotated");
        poll::eventually(PATIENCE, &what, || async {
            let vcpus = self.vcpus(name).await?;
            ensure!(vcpus.as_deref() == Some(shape.vcpus), "it has {vcpus:?}");
            Ok(start.elapsed())
        })
        .await
    }

    pub(crate) fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Holder and transitions of the annotator's lease.
    pub(crate) async fn lease(&self) -> Result<(String, i32)> {
        let spec = self.leases().get(LEASE).await?.spec.context("a Lease has a spec")?;
        Ok((spec.holder_identity.unwrap_or_default(), spec.lease_transitions.unwrap_or(0)))
    }
}

/// The spec of a MachineSet.
pub(crate) fn spec(shape: Shape) -> Value {
    json!({
        "replicas": 0,
        "selector": {},
        "template": {"spec": {"providerSpec": {"value": {
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "AWSMachineProviderConfig",
            "instanceType": shape.instance_type,
        }}}},
    })
}
