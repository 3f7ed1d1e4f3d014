//! OpenShift's own definitions of Machines and MachineSets, for tests that must hold on a real OpenShift too.
//!
//! They come from the Go module that OpenShift publishes them in, pinned in `tools/control-plane/openshift-crds`;
//! `go.sum` fixes their content. Go keeps the module in its own cache, so the network is asked once per machine.
//! Nothing is copied into this repository.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::binaries::{BuildError, Sources, run_go};
use crate::crds;
use crate::error::Error;

const MODULE: &str = "github.com/openshift/api";
const MODULE_FILES: [(&str, &str); 2] = [
    ("go.mod", include_str!("../../../tools/control-plane/openshift-crds/go.mod")),
    ("go.sum", include_str!("../../../tools/control-plane/openshift-crds/go.sum")),
];
const MANIFESTS: &str = "machine/v1beta1/zz_generated.crd-manifests";
const KINDS: [&str; 2] = ["machines", "machinesets"];

/// Which of OpenShift's feature sets the definitions are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureSet {
    /// What a cluster has by default.
    Default,
    /// With every gate open, among them the migration to Cluster API.
    CustomNoUpgrade,
}

impl FeatureSet {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Default, Self::CustomNoUpgrade];

    /// Its name in OpenShift.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::CustomNoUpgrade => "CustomNoUpgrade",
        }
    }
}

/// OpenShift's definitions of Machine and MachineSet, in this order.
pub async fn openshift_crds(set: FeatureSet) -> Result<Vec<serde_json::Value>, Error> {
    let folder = module_folder().await.map_err(Error::OpenShift)?.join(MANIFESTS);
    let name = set.name();
    KINDS
        .iter()
        .map(|kind| folder.join(format!("0000_10_machine-api_01_{kind}-{name}.crd.yaml")))
        .map(|file| read(&file))
        .collect()
}

fn read(file: &Path) -> Result<serde_json::Value, Error> {
    let yaml = std::fs::read_to_string(file).map_err(Error::file("read", file))?;
    let [definition] = crds::parse(&yaml)?.try_into().map_err(|_| Error::Manifest {
        index: 2,
        reason: format!("{} should hold exactly one", file.display()),
    })?;
    serde_json::to_value(definition)
        .map_err(|error| Error::Manifest { index: 1, reason: error.to_string() })
}

/// Where Go keeps the module, after getting it if it must.
async fn module_folder() -> Result<PathBuf, BuildError> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(rename = "Dir")]
        folder: PathBuf,
    }

    let workspace = tempfile::Builder::new().prefix("machinist-go-").tempdir()?;
    for (name, content) in MODULE_FILES {
        std::fs::write(workspace.path().join(name), content)?;
    }
    let go = Sources::from_env()?.go;
    let answer = run_go(&go, workspace.path(), &["mod", "download", "-json", MODULE]).await?;
    let Answer { folder } = serde_json::from_str(&answer).map_err(std::io::Error::from)?;
    Ok(folder)
}
