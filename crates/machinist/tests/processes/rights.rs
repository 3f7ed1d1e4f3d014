//! The manifests in `deploy/base` give every right that is needed: the binary works as their ServiceAccount, and nothing that it asks for is
//! forbidden.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use machinist_control_plane::ControlPlane;
use machinist_testbed::poll;
use serde_json::Value;

use crate::support::process::Process;
use crate::support::replica::LEADER;
use crate::support::scene::{LARGE, SMALL, Scene, UNKNOWN, install_crds};
use crate::support::time::PATIENCE;

/// As the manifests name them.
const NAMESPACE: &str = "machinist-system";
const ACCOUNT: &str = "machineset-annotator";
/// Those that rights depend on.
const FILES: [&str; 4] =
    ["namespace.yaml", "service-account.yaml", "cluster-role.yaml", "role-leases.yaml"];

async fn apply_manifests(client: &Client) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/base");
    for file in FILES {
        let text = std::fs::read_to_string(folder.join(file)).context(file)?;
        for document in text.split("\n---\n") {
            apply(client.clone(), serde_saphyr::from_str(document)?).await?;
        }
    }
    Ok(())
}

async fn apply(client: Client, document: Value) -> Result<()> {
    match document["kind"].as_str().unwrap_or_default() {
        "Namespace" => create::<Namespace>(Api::all(client), document).await,
        "ClusterRole" => create::<ClusterRole>(Api::all(client), document).await,
        "ClusterRoleBinding" => create::<ClusterRoleBinding>(Api::all(client), document).await,
        "ServiceAccount" => {
            create::<ServiceAccount>(Api::namespaced(client, NAMESPACE), document).await
        }
        "Role" => create::<Role>(Api::namespaced(client, NAMESPACE), document).await,
        "RoleBinding" => create::<RoleBinding>(Api::namespaced(client, NAMESPACE), document).await,
        other => anyhow::bail!("{other} is not about rights"),
    }
}

async fn create<K>(api: Api<K>, document: Value) -> Result<()>
where
    K: Clone + Serialize + DeserializeOwned + std::fmt::Debug + Resource,
{
    let object: K = serde_json::from_value(document)?;
    let created = api.create(&PostParams::default(), &object).await;
    created.with_context(|| object.name_any())?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifests_give_every_right_that_is_needed() -> Result<()> {
    // Its own control plane: as deployed, it looks at all namespaces.
    let control_plane = ControlPlane::start().await?;
    install_crds(&control_plane).await?;
    let scene = Scene::on(&control_plane, "rights").await?;
    apply_manifests(&scene.client).await?;
    let kubeconfig = control_plane.service_account_kubeconfig(NAMESPACE, ACCOUNT).await?;
    let flags = [
        "--leader-elect",
        "--leader-elect-lease-duration=3s",
        "--leader-elect-resource-namespace=machinist-system",
    ];
    let mut leader = Process::start(&kubeconfig, "rights", &flags).await?;
    leader.wait_metric(LEADER, |value| value > 0.5).await?;
    let follower = Process::start(&kubeconfig, "rights", &flags).await?;
    follower.wait_ready().await?;

    scene.create_set("set", SMALL).await?;
    scene.create_set("unknown", UNKNOWN).await?;
    scene.annotated("set", SMALL).await?;
    poll::eventually(PATIENCE, "an Event about the unknown type", || async {
        let events = Api::<Event>::namespaced(scene.client.clone(), &scene.namespace);
        ensure!(!events.list(&ListParams::default()).await?.items.is_empty(), "none yet");
        Ok(())
    })
    .await?;
    leader.kill().await?;
    scene.change_set("set", LARGE).await?;
    scene.annotated("set", LARGE).await?;

    let user = format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}");
    let mut requests = control_plane.audit().read_new()?;
    requests.retain(|entry| entry.user == user);
    assert!(requests.iter().any(|entry| entry.is_write() && entry.resource == "machinesets"));
    requests.retain(|entry| matches!(entry.code, 401 | 403));
    let forbidden: Vec<_> = requests.iter().map(|entry| &entry.request_uri).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    Ok(())
}
