//! What `deploy/` installs, rendered by kustomize and taken by a real API server; and the command line that its Deployment says.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::ControlPlane;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A variant of `deploy/`, installed.
#[derive(Debug)]
pub(crate) struct Installation {
    /// Where it was installed.
    pub(crate) namespace: String,
    /// As whom it runs.
    pub(crate) account: String,
    container: Value,
}

impl Installation {
    /// Installs a folder of `deploy/` as `kubectl apply -k` does.
    pub(crate) async fn apply(control_plane: &ControlPlane, folder: &str) -> Result<Self> {
        let manifests = kubectl(control_plane, &["kustomize", &path(folder)], None).await?;
        kubectl(control_plane, &["apply", "-f", "-"], Some(&manifests)).await?;
        let documents: Vec<Value> = serde_saphyr::from_multiple(&manifests)?;
        let deployment = documents.iter().find(|document| document["kind"] == "Deployment");
        let deployment = deployment.context("a Deployment")?;
        let pod = &deployment["spec"]["template"]["spec"];
        Ok(Self {
            namespace: text(&deployment["metadata"]["namespace"])?,
            account: text(&pod["serviceAccountName"])?,
            container: pod["containers"][0].clone(),
        })
    }

    /// What the kubelet would put after `machinist run`.
    pub(crate) fn flags(&self) -> Result<Vec<String>> {
        let field = &self.container["env"][0];
        ensure!(field["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace", "{field}");
        let variable = format!("$({})", text(&field["name"])?);
        let arguments = self.container["args"].as_array().context("arguments")?;
        let arguments = arguments.iter().map(text).collect::<Result<Vec<_>>>()?;
        let (verb, flags) = arguments.split_first().context("a verb")?;
        ensure!(verb == "run", "{verb}");
        Ok(flags.iter().map(|flag| flag.replace(&variable, &self.namespace)).collect())
    }

    /// The user as the API server knows it.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }
}

/// Applies a single file of `deploy/`.
pub(crate) async fn apply_file(control_plane: &ControlPlane, file: &str) -> Result<()> {
    kubectl(control_plane, &["apply", "-f", &path(file)], None).await?;
    Ok(())
}

/// Runs kubectl as the administrator. A warning of the API server (a bad security context, an outdated version) is a failure.
pub(crate) async fn kubectl(
    control_plane: &ControlPlane,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<String> {
    let mut child = Command::from(control_plane.kubectl().await?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("stdin")?;
    stdin.write_all(input.unwrap_or_default().as_bytes()).await?;
    drop(stdin);
    let output = child.wait_with_output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let clean = output.status.success() && !errors.contains("Warning");
    ensure!(clean, "kubectl {}: {errors}", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

fn path(below_deploy: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(below_deploy);
    folder.to_string_lossy().into_owned()
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().with_context(|| format!("{value} is no text"))?.to_owned())
}
