//! Whose definitions of Machines and MachineSets are served; tests run on either.

use anyhow::Result;
use machinist_control_plane::{ControlPlane, FeatureSet, openshift_crds};
use serde_json::Value;
use tokio::sync::OnceCell;

/// Whose definitions are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// Ours.
    Ours,
    /// OpenShift's own, which drop without a word what they do not know.
    Stock,
}

impl Served {
    pub(crate) async fn definitions(self) -> Result<Vec<Value>> {
        match self {
            Self::Ours => Ok(machinist_api::crds()
                .iter()
                .map(serde_json::to_value)
                .collect::<Result<_, _>>()?),
            Self::Stock => Ok(openshift_crds(FeatureSet::Default).await?),
        }
    }

    /// The definition of one kind.
    pub(crate) async fn definition(self, plural: &str) -> Result<Value> {
        let all = self.definitions().await?.into_iter();
        let mut found = all.filter(|crd| crd["spec"]["names"]["plural"] == plural);
        found.next().ok_or_else(|| anyhow::anyhow!("there is no definition of {plural}"))
    }

    /// One API server for all tests.
    pub(crate) async fn control_plane(self) -> &'static ControlPlane {
        static OURS: OnceCell<ControlPlane> = OnceCell::const_new();
        static STOCK: OnceCell<ControlPlane> = OnceCell::const_new();
        let shared = if self == Self::Ours { &OURS } else { &STOCK };
        let start = || async {
            let control_plane = ControlPlane::start().await?;
            let yaml = self.definitions().await?.into_iter().map(|crd| format!("{crd}\n---\n"));
            control_plane.install_crds(&yaml.collect::<String>()).await?;
            anyhow::Ok(control_plane)
        };
        shared.get_or_try_init(start).await.unwrap()
    }
}

/// Makes two tests of each function that takes a [`Fleet`](crate::fleet::Fleet): on our definitions, and on OpenShift's own.
macro_rules! on_both_definitions {
    ($($test:ident),+ $(,)?) => {
        mod on_ours {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() -> anyhow::Result<()> {
                let served = crate::definitions::Served::Ours;
                super::$test(crate::fleet::Fleet::new(served).await?).await
            })+
        }
        mod on_openshifts {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() -> anyhow::Result<()> {
                let served = crate::definitions::Served::Stock;
                super::$test(crate::fleet::Fleet::new(served).await?).await
            })+
        }
    };
}
