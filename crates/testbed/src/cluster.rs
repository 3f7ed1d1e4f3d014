use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, GroupVersionKind, ObjectMeta, PostParams};
use kube::{Api, Client};
use machinist_control_plane::ControlPlane;

pub async fn control_plane() -> Result<ControlPlane> {
    let control_plane = ControlPlane::start().await?;
    install_crds(&control_plane).await?;
    Ok(control_plane)
}

pub async fn install_crds(control_plane: &ControlPlane) -> Result<()> {
    let definitions = machinist_api::crds();
    let documents = definitions.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    control_plane.install_crds(&documents.join("\n---\n")).await
}

/// The name begins with that of the test.
pub async fn namespace(client: &Client, test: &str) -> Result<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let test: String = test.replace('_', "-").chars().take(40).collect();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // The random part keeps the namespaces of several processes on one API server apart.
    let name = format!("{test}-{number}-{:04x}", fastrand::u16(..));
    create_namespace(client, &name).await?;
    Ok(name)
}

pub async fn create_namespace(client: &Client, name: &str) -> Result<()> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let object = Namespace { metadata, ..Namespace::default() };
    let created = Api::all(client.clone()).create(&PostParams::default(), &object).await;
    created.with_context(|| format!("namespace {name}"))?;
    Ok(())
}

pub fn machines() -> ApiResource {
    machine_api("Machine", "machines")
}

pub fn machine_sets() -> ApiResource {
    machine_api("MachineSet", "machinesets")
}

pub fn machine_deployments() -> ApiResource {
    machine_api("MachineDeployment", "machinedeployments")
}

pub fn machine_health_checks() -> ApiResource {
    machine_api("MachineHealthCheck", "machinehealthchecks")
}

fn machine_api(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("machine.openshift.io", "v1beta1", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}
