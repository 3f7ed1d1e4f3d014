//! The administrator's kubeconfig, complete in itself (certificates inline), so that it can be copied anywhere.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::certificates::Identity;
use crate::messages;

pub(crate) fn render(url: &str, ca_pem: &str, user: &str, identity: &Identity) -> String {
    let ca = STANDARD.encode(ca_pem);
    let certificate = STANDARD.encode(&identity.certificate_pem);
    let key = STANDARD.encode(&identity.key_pem);
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
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: machinist
  context:
    cluster: machinist
    user: {user}
"
    )
}

pub(crate) async fn parse(yaml: &str) -> Result<kube::Config> {
    let failed = || messages::cannot("use", "the kubeconfig");
    let kubeconfig = Kubeconfig::from_yaml(yaml).with_context(failed)?;
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.with_context(failed)?;
    // A proxy that the environment names has no business between us and the loopback interface.
    config.proxy_url = None;
    Ok(config)
}
