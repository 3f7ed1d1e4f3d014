//! A namespace and a proxy of its own for each test, on a control plane that they share.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_control_plane::ControlPlane;
use machinist_domain::safety::Limits;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::SystemClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::controller::start::{Registration, Shared};
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_testbed::World;
use machinist_testbed::poll::eventually;
use serde_json::json;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::toys::MARK;

/// How long anything is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a lease lasts here.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

pub(crate) async fn control_plane() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED.get_or_try_init(ControlPlane::start).await.unwrap()
}

/// Time runs twenty times faster.
pub(crate) fn timings() -> Timings {
    // The first request for a new kind is slow, and so is the last one on a busy machine.
    let (request, stop_grace) = (PATIENCE, PATIENCE / 2);
    Timings { lease: LEASE, request, stop_grace, ..Timings::default().scaled(0.05) }
}

/// A world on the shared control plane, whose ConfigMaps the toys mark.
pub(crate) struct ToyWorld(World);

impl Deref for ToyWorld {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl ToyWorld {
    pub(crate) async fn new(name: &str) -> Self {
        Self(World::new(&control_plane().await.kube_config(), name).await.unwrap())
    }

    pub(crate) fn config_maps(&self) -> Api<ConfigMap> {
        self.api()
    }

    pub(crate) async fn create_config_maps(&self, count: usize) {
        for n in 0..count {
            let map = json!({"metadata": {"name": format!("map-{n}")}});
            let map: ConfigMap = serde_json::from_value(map).unwrap();
            self.config_maps().create(&PostParams::default(), &map).await.unwrap();
        }
    }

    pub(crate) async fn all_marked(&self, count: usize) {
        let marked = eventually(PATIENCE, "all ConfigMaps are marked", || async {
            let maps = self.config_maps().list(&ListParams::default()).await?;
            let marked = maps.iter().filter(|map| map.annotations().contains_key(MARK)).count();
            ensure!(marked == count, "{marked} of {count}");
            Ok(())
        });
        marked.await.unwrap();
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            scope: Scope::Namespace(self.namespace.clone()),
            leader_elect: None,
            lease_namespace: self.namespace.clone(),
            take_over: false,
            identity: format!("test-{:x}", fastrand::u64(..)),
            workers: HashMap::new(),
            dry_run: false,
            metrics_address: "0".to_owned(),
            secure_metrics: None,
            health_address: "0".to_owned(),
            limits: Limits::default(),
        }
    }

    /// A process that is not running yet.
    pub(crate) fn manager(&self, options: Options) -> Manager {
        self.manager_with(&timings(), options)
    }

    fn manager_with(&self, timings: &Timings, options: Options) -> Manager {
        let config = self.proxy.config("unused").unwrap();
        let cluster = Cluster::new(config, timings).unwrap();
        Manager::new(cluster.clone(), Some(cluster), options, Arc::new(SystemClock), *timings)
    }

    pub(crate) fn run(&self, options: Options, controllers: Vec<Registration>) -> Running {
        self.run_with(&timings(), options, controllers)
    }

    pub(crate) fn run_with(
        &self,
        timings: &Timings,
        options: Options,
        controllers: Vec<Registration>,
    ) -> Running {
        let manager = self.manager_with(timings, options);
        let shared = manager.shared().clone();
        let stop = CancellationToken::new();
        #[expect(clippy::disallowed_methods, reason = "a whole process, which outlives its tasks")]
        let ended = tokio::spawn({
            let stop = stop.clone();
            async move { Ok(manager.run(controllers, stop).await?) }
        });
        Running { shared, ended, stop: stop.drop_guard() }
    }
}

/// A manager that runs; dropping it stops it.
pub(crate) struct Running {
    pub(crate) shared: Arc<Shared>,
    ended: JoinHandle<Result<()>>,
    stop: DropGuard,
}

impl Running {
    pub(crate) fn readiness(&self) -> String {
        self.shared.readiness.describe(&self.shared.caches.all()).1
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.shared.readiness.describe(&self.shared.caches.all()).0
    }

    /// Why it ends by itself.
    pub(crate) async fn failure(self) -> anyhow::Error {
        tokio::time::timeout(PATIENCE, self.ended).await.unwrap().unwrap().unwrap_err()
    }

    pub(crate) async fn assert_readiness(&self, text: &str) {
        self.until_readiness(text).await.unwrap();
    }

    pub(crate) async fn until_readiness(&self, text: &str) -> Result<()> {
        eventually(PATIENCE, text, || async {
            let readiness = self.readiness();
            ensure!(readiness.contains(text), "{readiness}");
            Ok(())
        })
        .await
    }

    pub(crate) async fn stop(self) {
        drop(self.stop);
        tokio::time::timeout(PATIENCE, self.ended).await.unwrap().unwrap().unwrap();
    }
}
