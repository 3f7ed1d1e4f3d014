//! Whose definitions of Machines and MachineSets are served; tests run on either.

use anyhow::{Context, Result};
use machinist_control_plane::ControlPlane;
use machinist_testbed::openshift::{FeatureSet, openshift_crds, openshift_health_check_crd};
use serde_json::Value;
use tokio::sync::OnceCell;

/// Whose definitions are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// Ours.
    Ours,
    /// OpenShift's own, which drop without a word what they do not know.
    Stock(FeatureSet),
}

impl Served {
    /// The definitions of these kinds, as YAML documents.
    pub(crate) async fn yaml(self, plurals: &[&str]) -> Result<String> {
        let all: Vec<Value> = match self {
            Self::Ours => {
                machinist_api::crds().iter().map(serde_json::to_value).collect::<Result<_, _>>()?
            }
            Self::Stock(features) => openshift_crds(features).await?,
        };
        let mut documents = Vec::new();
        for plural in plurals {
            let mut found = all.iter().filter(|crd| crd["spec"]["names"]["plural"] == *plural);
            let found = found.next().with_context(|| format!("no definition of {plural}"))?;
            documents.push(found.to_string());
        }
        Ok(documents.join("\n---\n"))
    }
}

/// The API server that all tests share on which these definitions are served.
pub(crate) async fn control_plane(served: Served) -> &'static ControlPlane {
    static OURS: OnceCell<ControlPlane> = OnceCell::const_new();
    static STOCK: OnceCell<ControlPlane> = OnceCell::const_new();
    static GATED: OnceCell<ControlPlane> = OnceCell::const_new();
    let shared = match served {
        Served::Ours => &OURS,
        Served::Stock(FeatureSet::Default) => &STOCK,
        Served::Stock(FeatureSet::CustomNoUpgrade) => &GATED,
    };
    let start = || async {
        let control_plane = ControlPlane::start().await?;
        let all = ["machines", "machinesets", "machinedeployments", "machinehealthchecks"];
        // OpenShift has no MachineDeployments.
        let definitions = match served {
            Served::Ours => served.yaml(&all).await?,
            Served::Stock(_) => {
                let health_checks = openshift_health_check_crd().await?;
                format!("{}\n---\n{health_checks}", served.yaml(&all[..2]).await?)
            }
        };
        control_plane.install_crds(&definitions).await?;
        anyhow::Ok(control_plane)
    };
    shared.get_or_try_init(start).await.unwrap()
}

/// Makes two tests of each function: on our definitions, and on OpenShift's own. What they work on is made from the
/// name of the test and whose definitions are served.
macro_rules! on_both_definitions {
    ($make:path => $($test:ident),+ $(,)?) => {
        mod on_ours {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() -> anyhow::Result<()> {
                let served = crate::definitions::Served::Ours;
                super::$test($make(stringify!($test), served).await?).await
            })+
        }
        mod on_openshifts {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() -> anyhow::Result<()> {
                let features = machinist_testbed::openshift::FeatureSet::Default;
                let served = crate::definitions::Served::Stock(features);
                super::$test($make(stringify!($test), served).await?).await
            })+
        }
    };
}
