//! What cargo knows about the workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::repo::Repo;

/// The part of `cargo metadata --no-deps` that the checks read.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

/// A member of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    /// The names that each feature enables.
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
}

/// A line of a `[dependencies]` table.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Absent for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// Present where it is another folder of the workspace.
    pub(crate) path: Option<PathBuf>,
}

/// A library, binary, test, ...
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) src_path: PathBuf,
}

impl Metadata {
    pub(crate) fn of(repo: &Repo) -> Result<Self> {
        let text = output(repo, &["metadata", "--no-deps", "--format-version", "1"])?;
        serde_json::from_str(&text).context("failed to read the answer of cargo metadata")
    }

    pub(crate) fn package(self, name: &str) -> Result<Package> {
        let mut packages = self.packages.into_iter();
        let found = packages.find(|package| package.name == name);
        found.with_context(|| format!("the workspace has no crate {name}"))
    }
}

/// Runs cargo in the repository and returns what it prints.
pub(crate) fn output(repo: &Repo, arguments: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(repo.root())
        .output()
        .context("failed to run cargo")?;
    ensure!(
        output.status.success(),
        "cargo {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    String::from_utf8(output.stdout).context("cargo printed something that is not UTF-8")
}
