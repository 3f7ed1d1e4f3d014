//! Clients that act as a `ServiceAccount`, so that RBAC manifests are tested and not assumed.

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use machinist_control_plane::ControlPlane;
use serde_json::{Value, json};

/// Longer than any test; such a client does not renew its token.
const LIFETIME_SECONDS: i64 = 24 * 60 * 60;

pub async fn token(control_plane: &ControlPlane, namespace: &str, name: &str) -> Result<String> {
    let accounts = Api::<ServiceAccount>::namespaced(control_plane.client()?, namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(LIFETIME_SECONDS),
            ..Default::default()
        }),
        ..Default::default()
    };
    accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .with_context(|| format!("cannot get a token for service account {namespace}/{name}"))?
        .status
        .and_then(|status| status.token)
        .with_context(|| format!("no token for service account {namespace}/{name}"))
}

pub async fn kubeconfig(
    control_plane: &ControlPlane,
    namespace: &str,
    name: &str,
) -> Result<String> {
    let mut kubeconfig: Value = serde_saphyr::from_str(control_plane.kubeconfig_yaml())?;
    let token = token(control_plane, namespace, name).await?;
    kubeconfig["users"][0]["user"] = json!({ "token": token });
    Ok(kubeconfig.to_string())
}

pub async fn client(control_plane: &ControlPlane, namespace: &str, name: &str) -> Result<Client> {
    let kubeconfig = kubeconfig(control_plane, namespace, name).await?;
    let (kubeconfig, options) = (Kubeconfig::from_yaml(&kubeconfig)?, KubeConfigOptions::default());
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // A proxy that the environment names has no business between us and the loopback interface.
    config.proxy_url = None;
    Ok(Client::try_from(config)?)
}
