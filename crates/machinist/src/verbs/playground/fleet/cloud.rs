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
use crate::verbs::playground::messages;

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
        sim.set_modes(behaviour(fail).0);
        let server = SimServer::start(&sim).await.context(messages::NO_CLOUD)?;
        let config = control_plane.kube_config();
        let kubelets = Kubelets::start(
            &sim,
            config,
            KubeletOptions { pods: true, ..KubeletOptions::default() },
        )?;
        Ok(Self { sim, server, _kubelets: kubelets })
    }

    pub(in super::super) fn providers(&self) -> Providers {
        Providers::new(vec![Arc::new(SimProvider::at(self.server.url()))])
    }
}

/// Of the cloud, and `failures` in the provider spec.
pub(super) fn behaviour(mode: Option<FailMode>) -> (Modes, Value) {
    let (mut modes, mut failures) = (Modes::default(), json!({}));
    match mode {
        None => {}
        Some(FailMode::NeverBoots) => failures = json!({"neverBoots": true}),
        Some(FailMode::Dies) => failures = json!({"diesAfterSeconds": 20}),
        Some(FailMode::NoCapacity) => failures = json!({"noCapacity": true}),
        Some(FailMode::Throttled) => modes.calls_per_second = Some(2),
        Some(FailMode::LostAnswers) => modes.lost_per_mille = 500,
        Some(FailMode::Slow) => {
            modes.hidden_millis = 3000;
            modes.create_answer_delay_millis = 2000;
        }
    }
    (modes, failures)
}
