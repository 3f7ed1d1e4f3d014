//! They come from the Go module that OpenShift publishes, pinned in `tools/control-plane/openshift-crds`. Go caches it,
//! so the network is used once per machine, and nothing is copied into this repository.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::go_module;

const MODULE: &str = "github.com/openshift/api";
const MODULE_FILES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../../../tools/control-plane/openshift-crds/go.mod")),
    ("go.sum", include_str!("../../../tools/control-plane/openshift-crds/go.sum")),
];
const MANIFESTS: &str = "machine/v1beta1/zz_generated.crd-manifests";
const KINDS: [&str; 2] = ["machines", "machinesets"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureSet {
    Default,
    /// Every gate is open, among them the migration to Cluster API.
    CustomNoUpgrade,
}

/// Machine, then MachineSet.
pub async fn openshift_crds(set: FeatureSet) -> Result<Vec<Value>> {
    let folder = manifests().await?;
    KINDS.iter().map(|kind| definition(&folder, &format!("{kind}-{set:?}"))).collect()
}

/// MachineHealthCheck, which is the same in all feature sets.
pub async fn openshift_health_check_crd() -> Result<Value> {
    definition(&manifests().await?, "machinehealthchecks")
}

async fn manifests() -> Result<PathBuf> {
    let module = go_module::folder_of(&MODULE_FILES, MODULE).await;
    Ok(module.context("cannot get OpenShift's definitions with Go")?.join(MANIFESTS))
}

fn definition(folder: &Path, name: &str) -> Result<Value> {
    let file = folder.join(format!("0000_10_machine-api_01_{name}.crd.yaml"));
    let yaml = std::fs::read_to_string(&file);
    let yaml = yaml.with_context(|| format!("cannot read {}", file.display()))?;
    let definition: Value =
        serde_saphyr::from_str(&yaml).with_context(|| file.display().to_string())?;
    // Without what the API server does not read.
    let definition: CustomResourceDefinition = serde_json::from_value(definition)?;
    Ok(serde_json::to_value(definition)?)
}
