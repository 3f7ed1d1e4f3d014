use anyhow::{Result, ensure};
use machinist_control_plane::ControlPlane;
use machinist_control_plane::binaries::{Binary, Sources};
use tokio::process::Command;

use crate::process;

/// As the administrator. Gets the program first if need be.
pub async fn command(control_plane: &ControlPlane) -> Result<std::process::Command> {
    let program = Sources::from_env()?.find(Binary::Kubectl, None).await?;
    let mut command = std::process::Command::new(program);
    command.env("KUBECONFIG", control_plane.kubeconfig_path());
    Ok(command)
}

/// A warning of the API server (a bad security context, an outdated version) is a failure.
pub async fn kubectl(
    control_plane: &ControlPlane,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<String> {
    let mut command = Command::from(command(control_plane).await?);
    let output = process::output(command.args(arguments), input.unwrap_or_default()).await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let clean = output.status.success() && !errors.contains("Warning");
    ensure!(clean, "kubectl {}: {errors}", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}
