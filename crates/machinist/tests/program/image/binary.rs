//! Where the binary of the image is.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use machinist_testbed::process;
use serde_json::Value;
use tokio::process::Command;

/// A binary with the features of the image, which `CARGO_BIN_EXE_machinist` does not have.
pub(super) fn path() -> Result<PathBuf> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../image/machinist");
    ensure!(path.is_file(), "{} is missing: run `cargo xtask check image`", path.display());
    Ok(path)
}

/// What it prints.
pub(super) async fn output(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(path()?);
    let output = process::output(command.args(arguments), "").await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

/// What is in it.
pub(super) async fn version() -> Result<Value> {
    Ok(serde_json::from_str(&output(&["version", "-o", "json"]).await?)?)
}
