//! kubectl, as a user runs it.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::ControlPlane;
use machinist_control_plane::binaries::{Binary, Sources};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// kubectl as the administrator, ready to get arguments. Gets the program first if need be.
pub async fn command(control_plane: &ControlPlane) -> Result<std::process::Command> {
    let program = Sources::from_env()?.find(Binary::Kubectl, None).await?;
    let mut command = std::process::Command::new(program);
    command.env("KUBECONFIG", control_plane.kubeconfig_path());
    Ok(command)
}

/// Runs kubectl as the administrator and returns what it prints. A warning of the API server (a bad security context,
/// an outdated version) is a failure.
pub async fn kubectl(
    control_plane: &ControlPlane,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<String> {
    let mut child = Command::from(command(control_plane).await?)
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
