//! What providers are made of, from what the process has: Secrets, what the cluster says of its cloud, metrics, clock and tasks.

use std::sync::Arc;

use machinist_controllers::platform::ClusterPlatform;
use machinist_controllers::secrets::ClusterSecrets;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::witness::Witness;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::metrics::Metrics;

/// Counts the providers' calls in the process's metrics.
struct Counted(Arc<Metrics>);

impl Witness for Counted {
    fn called(&self, operation: &'static str, result: &'static str) {
        self.0.cloud_called(operation, result);
    }

    fn looked(&self, hit: bool) {
        self.0.type_looked(hit);
    }
}

/// What providers are made of, for as long as the process runs.
pub(crate) fn of(shared: &Arc<Shared>) -> Parts {
    let clock = Arc::clone(&shared.clock);
    let tasks = shared.tasks.clone();
    let timings = &shared.timings;
    Parts {
        secrets: Arc::new(ClusterSecrets::new(&shared.control)),
        platform: Arc::new(ClusterPlatform::new(shared)),
        witness: Arc::new(Counted(Arc::clone(&shared.metrics))),
        clock: Arc::new(move || clock.uptime()),
        spawn: Arc::new(move |task| {
            let stop = tasks.stopping();
            tasks.spawn(async move {
                stop.run_until_cancelled(task).await;
            });
        }),
        timings: CloudTimings {
            consistency: timings.machines.consistency,
            request: timings.cloud_call,
            retry_base: timings.retry.base,
            retry_max: timings.retry.max,
        },
    }
}
