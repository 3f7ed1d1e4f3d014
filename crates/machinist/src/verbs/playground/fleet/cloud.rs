//! The simulated cloud of the playground, in the same process but outside of the controllers: they reach it over HTTP alone.

use std::sync::Arc;

use anyhow::Context;
use machinist_control_plane::ControlPlane;
use machinist_provider::provider::Providers;
use machinist_provider_sim::SimProvider;
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use machinist_provider_sim::server::{Modes, SimCloud, SimServer};
use serde_json::{Value, json};

use crate::cli::FailMode;

/// A cloud that is called and whose instances become Nodes.
pub(in super::super) struct Cloud {
    /// The cloud itself, to count what it has.
    pub(super) sim: SimCloud,
    server: SimServer,
    _kubelets: Kubelets,
}

impl Cloud {
    /// An empty cloud that fails as the user wants.
    pub(in super::super) async fn start(
        control_plane: &ControlPlane,
        fail: Option<FailMode>,
    ) -> anyhow::Result<Self> {
        let sim = SimCloud::new(fastrand::u64(..), 1.0);
        sim.set_modes(fail.map_or_else(Modes::default, modes));
        let server = SimServer::start(&sim).await.context("starting the simulated cloud")?;
        let config = control_plane.kube_config();
        let kubelets = Kubelets::start(&sim, config, KubeletOptions::default())?;
        Ok(Self { sim, server, _kubelets: kubelets })
    }

    /// The provider for it.
    pub(in super::super) fn providers(&self) -> Providers {
        Providers::new(vec![Arc::new(SimProvider::at(self.server.url()))])
    }
}

/// How each instance fails.
pub(super) fn failures(mode: FailMode) -> Value {
    match mode {
        FailMode::NeverBoots => json!({"neverBoots": true}),
        FailMode::Dies => json!({"diesAfterSeconds": 20}),
        FailMode::NoCapacity => json!({"noCapacity": true}),
        FailMode::Throttled | FailMode::LostAnswers | FailMode::Slow => json!({}),
    }
}

/// How the cloud as a whole fails.
fn modes(mode: FailMode) -> Modes {
    let well = Modes::default();
    match mode {
        FailMode::NeverBoots | FailMode::Dies | FailMode::NoCapacity => well,
        FailMode::Throttled => Modes { calls_per_second: Some(2), ..well },
        FailMode::LostAnswers => Modes { lost_per_mille: 500, ..well },
        FailMode::Slow => Modes { hidden_millis: 3000, create_answer_delay_millis: 2000, ..well },
    }
}
