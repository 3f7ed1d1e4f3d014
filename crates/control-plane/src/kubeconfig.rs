//! Kubeconfig files, complete in themselves (certificates inline), so that they can be copied anywhere.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::certificates::Identity;
use crate::error::Error;

/// How a client proves who it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Credentials<'a> {
    Certificate(&'a Identity),
    Token(&'a str),
}

/// The text of a kubeconfig with one cluster, one user and one context.
pub(crate) fn render(url: &str, ca_pem: &str, user: &str, credentials: Credentials<'_>) -> String {
    let ca = STANDARD.encode(ca_pem);
    let credentials = match credentials {
        Credentials::Certificate(identity) => format!(
            "client-certificate-data: {}\n    client-key-data: {}",
            STANDARD.encode(&identity.certificate_pem),
            STANDARD.encode(&identity.key_pem)
        ),
        Credentials::Token(token) => format!("token: {token}"),
    };
    format!(
        "apiVersion: v1
kind: Config
current-context: machinist
clusters:
- name: machinist
  cluster:
    server: {url}
    certificate-authority-data: {ca}
users:
- name: {user}
  user:
    {credentials}
contexts:
- name: machinist
  context:
    cluster: machinist
    user: {user}
"
    )
}

/// What the client library makes of such a text.
pub(crate) async fn parse(yaml: &str) -> Result<kube::Config, Error> {
    let kubeconfig = Kubeconfig::from_yaml(yaml)?;
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // A proxy that the environment names has no business between us and the loopback interface.
    config.proxy_url = None;
    Ok(config)
}
