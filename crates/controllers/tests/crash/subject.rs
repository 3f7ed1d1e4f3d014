//! The controllers of machines in one process, much faster than life.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::SystemClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_testbed::crash::{Launch, RuntimeSubject};
use tokio_util::sync::CancellationToken;

use crate::controllers::registrations;

/// A fiftieth of life, apart from what a busy machine would turn into a failure. Nothing is mended by the resync: it does not come round.
fn timings() -> Timings {
    let usual = Timings::default();
    let mut quick = usual.scaled(0.02);
    quick.sync_period = usual.sync_period;
    quick.request = Duration::from_secs(2);
    quick.cloud_call = Duration::from_secs(2);
    quick.machines.creation = Duration::from_hours(1);
    quick.machines.drain = Duration::from_hours(1);
    // Long enough that a status is written once for all machines of a step.
    quick.machines.children = Duration::from_millis(300);
    quick
}

/// The controllers, behind the proxy of a world.
pub(crate) fn controllers() -> RuntimeSubject {
    RuntimeSubject::new(|launch: Launch| async move {
        let timings = timings();
        let cluster = Cluster::new(launch.config()?, &timings)?;
        let options = Options {
            scope: Scope::Namespace(launch.namespace.clone()),
            leader_elect: Some(false),
            lease_namespace: launch.namespace.clone(),
            take_over: false,
            identity: "test".to_owned(),
            workers: HashMap::new(),
            dry_run: false,
            metrics_address: "0".to_owned(),
            health_address: "0".to_owned(),
        };
        let target = Some(cluster.clone());
        let manager = Manager::new(cluster, target, options, Arc::new(SystemClock), timings);
        let endpoint = launch.cloud.context("a world with a cloud")?;
        Ok(manager.run(registrations(endpoint), CancellationToken::new()).await?)
    })
}
