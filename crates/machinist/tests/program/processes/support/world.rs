//! A [`World`] whose user creates and changes MachineSets and MachineDeployments, which the annotator looks at.

use std::ops::Deref;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::DynamicObject;
use machinist_api::names;
use machinist_control_plane::ControlPlane;
use machinist_testbed::World;
use serde_json::{Value, json};

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

/// A world whose MachineSets are annotated.
#[derive(Debug)]
pub(crate) struct AnnotatorWorld(pub(crate) World);

impl Deref for AnnotatorWorld {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl AnnotatorWorld {
    /// On the shared control plane.
    pub(crate) async fn new(name: &str) -> Result<Self> {
        Self::on(control_plane().await?, name).await
    }

    /// On this control plane.
    pub(crate) async fn on(control_plane: &ControlPlane, name: &str) -> Result<Self> {
        Ok(Self(World::new(&control_plane.kube_config(), name).await?))
    }

    /// In the namespace of exactly this name, which must not exist yet.
    pub(crate) async fn called(control_plane: &ControlPlane, namespace: String) -> Result<Self> {
        Ok(Self(World::called(&control_plane.kube_config(), namespace).await?))
    }

    pub(crate) async fn create_set(&self, name: &str, shape: Shape) -> Result<()> {
        self.create_machine_set(name, json!({}), spec(shape)).await?;
        Ok(())
    }

    pub(crate) async fn change_set(&self, name: &str, shape: Shape) -> Result<()> {
        self.patch_set(name, json!({"spec": spec(shape)})).await
    }

    pub(crate) async fn create_deployment(&self, name: &str, shape: Shape) -> Result<()> {
        self.create_machine_deployment(name, json!({}), deployment_spec(shape)).await?;
        Ok(())
    }

    /// The number of vCPUs in the annotations of a set; `None` unless all of them are there.
    pub(crate) async fn vcpus(&self, name: &str) -> Result<Option<String>> {
        Self::vcpus_of(&self.sets(), name).await
    }

    async fn vcpus_of(objects: &Api<DynamicObject>, name: &str) -> Result<Option<String>> {
        let annotations = objects.get(name).await?.metadata.annotations.unwrap_or_default();
        let complete =
            [names::ANNOTATION_MEMORY, names::ANNOTATION_GPU, names::ANNOTATION_CAPACITY_LABELS]
                .iter()
                .all(|name| annotations.contains_key(*name));
        Ok(annotations.get(names::ANNOTATION_VCPU).filter(|_| complete).cloned())
    }

    /// Waits until the annotations of a set fit its shape, and returns how long that took.
    pub(crate) async fn annotated(&self, name: &str, shape: Shape) -> Result<Duration> {
        self.annotated_among(&self.sets(), name, shape).await
    }

    /// The same, of a MachineDeployment.
    pub(crate) async fn deployment_annotated(&self, name: &str, shape: Shape) -> Result<Duration> {
        self.annotated_among(&self.deployments(), name, shape).await
    }

    async fn annotated_among(
        &self,
        objects: &Api<DynamicObject>,
        name: &str,
        shape: Shape,
    ) -> Result<Duration> {
        let start = Instant::now();
        let what = format!("{name} to be annotated");
        self.eventually(&what, || async {
            let vcpus = Self::vcpus_of(objects, name).await?;
            ensure!(vcpus.as_deref() == Some(shape.vcpus), "it has {vcpus:?}");
            Ok(start.elapsed())
        })
        .await
    }

    pub(crate) fn leases(&self) -> Api<Lease> {
        self.api()
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

/// The spec of a MachineDeployment.
pub(crate) fn deployment_spec(shape: Shape) -> Value {
    let mut spec = spec(shape);
    spec["selector"] = json!({"matchLabels": {"app": "web"}});
    spec["template"]["metadata"] = json!({"labels": {"app": "web"}});
    spec
}
