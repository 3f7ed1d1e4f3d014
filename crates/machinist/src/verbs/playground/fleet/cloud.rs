//! The simulated cloud of the playground. The controllers reach it over HTTP.

use std::sync::Arc;

use anyhow::Context;
use machinist_control_plane::ControlPlane;
use machinist_provider::provider::Providers;
use machinist_provider_sim::SimProvider;
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use machinist_provider_sim::server::{Modes, SimCloud, SimServer};
use serde_json::{Value, json};

use crate::cli::FailMode;

pub(in super::super) struct Cloud {
    pub(super) sim: SimCloud,
    server: SimServer,
    _kubelets: Kubelets,
}

impl Cloud {
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

    pub(in super::super) fn providers(&self) -> Providers {
        Providers::new(vec![Arc::new(SimProvider::at(self.server.url()))])
    }
}

pub(super) fn failures(mode: FailMode) -> Value {
    match mode {
        FailMode::NeverBoots => json!({"neverBoots": true}),
        FailMode::Dies => json!({"diesAfterSeconds": 20}),
        FailMode::NoCapacity => json!({"noCapacity": true}),
        FailMode::Throttled | FailMode::LostAnswers | FailMode::Slow => json!({}),
    }
}

fn modes(mode: FailMode) -> Modes {
    let well = Modes::default();
    match mode {
        FailMode::NeverBoots | FailMode::Dies | FailMode::NoCapacity => well,
        FailMode::Throttled => Modes { calls_per_second: Some(2), ..well },
        FailMode::LostAnswers => Modes { lost_per_mille: 500, ..well },
        FailMode::Slow => Modes { hidden_millis: 3000, create_answer_delay_millis: 2000, ..well },
    }
}
