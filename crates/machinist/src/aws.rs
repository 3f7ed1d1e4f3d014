//! Ties the AWS provider to the runtime: clock, tasks, metrics and Secrets.

use std::sync::Arc;

use machinist_controllers::secrets::ClusterSecrets;
use machinist_provider::capacity::CapacitySource;
use machinist_provider::witness::Witness;
use machinist_provider_aws::{Ec2Types, Parts, TypeTimings};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::metrics::Metrics;

/// Counts the provider's calls in the process's metrics.
struct Counted(Arc<Metrics>);

impl Witness for Counted {
    fn called(&self, operation: &'static str, result: &'static str) {
        self.0.cloud_called(operation, result);
    }

    fn looked(&self, hit: bool) {
        self.0.type_looked(hit);
    }
}

/// EC2 as a source of capacities, for as long as the process runs.
pub(crate) fn ec2_types(shared: &Shared) -> Arc<dyn CapacitySource> {
    let clock = Arc::clone(&shared.clock);
    let tasks = shared.tasks.clone();
    Ec2Types::new(Parts {
        secrets: Arc::new(ClusterSecrets::new(&shared.control)),
        witness: Arc::new(Counted(Arc::clone(&shared.metrics))),
        clock: Arc::new(move || clock.uptime()),
        timings: TypeTimings {
            retry_base: shared.timings.retry.base,
            retry_max: shared.timings.retry.max,
            ..TypeTimings::default()
        },
        spawn: Arc::new(move |task| {
            let stop = tasks.stopping();
            tasks.spawn(async move {
                stop.run_until_cancelled(task).await;
            });
        }),
        page_size: None,
    })
}
