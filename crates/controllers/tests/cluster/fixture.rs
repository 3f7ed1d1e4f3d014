//! A [`World`] on the API server that all tests share, and the controllers that run in it.

use std::ops::Deref;

use anyhow::Result;
use machinist_control_plane::ControlPlane;
use machinist_provider_sim::server::SimCloud;
use machinist_testbed::World;
use machinist_testbed::kubectl;

use crate::controllers::Setup;
use crate::definitions::{Served, control_plane};
use crate::process::Process;

/// A world, and how controllers run in it.
pub(crate) struct Fixture {
    pub(crate) served: Served,
    pub(crate) world: World,
    /// What [`Self::run`] starts from now on.
    pub(crate) setup: Setup<'static>,
}

impl Deref for Fixture {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Fixture {
    /// Without a cloud.
    pub(crate) async fn new(test: &str, served: Served, setup: Setup<'static>) -> Result<Self> {
        Self::on(control_plane(served).await, test, served, setup).await
    }

    /// On an API server of its own.
    pub(crate) async fn on(
        control_plane: &ControlPlane,
        test: &str,
        served: Served,
        setup: Setup<'static>,
    ) -> Result<Self> {
        let world = World::new(&control_plane.kube_config(), test).await?;
        Ok(Self { served, world, setup })
    }

    /// With a simulated cloud, whose clock goes `scale` times as fast as real time.
    pub(crate) async fn with_cloud(self, scale: f64) -> Result<Self> {
        Ok(Self { world: self.world.with_cloud(scale).await?, ..self })
    }

    pub(crate) fn cloud(&self) -> &SimCloud {
        &self.world.cloud.as_ref().unwrap().sim
    }

    /// Starts the controllers behind the proxy of the world.
    pub(crate) fn run(&self) -> Result<Process> {
        Process::start(self.setup.clone(), &self.launch())
    }

    /// Starts these controllers instead.
    pub(crate) fn run_only(&self, controllers: &[&str]) -> Result<Process> {
        Process::start(Setup { controllers, ..self.setup.clone() }, &self.launch())
    }

    /// What kubectl prints in this namespace.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let arguments = [&["-n", &self.namespace], arguments].concat();
        kubectl::kubectl(control_plane(self.served).await, &arguments, None).await
    }
}
