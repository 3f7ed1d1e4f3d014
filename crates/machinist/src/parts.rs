//! Gives providers access to Secrets, cluster settings, metrics, clock and tasks of the process.

use std::sync::Arc;

use machinist_controllers::platform::ClusterPlatform;
use machinist_controllers::secrets::ClusterSecrets;
use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::metrics::CallMetrics;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::metrics::{Labels, MetricSet, Metrics, Registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

#[derive(Debug)]
struct InstanceTypeMetrics(Family<Labels<1>, Counter>);

impl MetricSet for InstanceTypeMetrics {
    fn register(registry: &mut Registry) -> Self {
        Self(
            registry.add("instance_type_looks", "Lookups of instance types, by result (hit, miss)"),
        )
    }
}

/// Registers the metrics of the program, beside those of the runtime and of the controllers.
pub fn register_metrics(metrics: &Metrics) {
    drop(metrics.of::<InstanceTypeMetrics>());
}

struct Counted(Arc<Metrics>, Arc<InstanceTypeMetrics>);

impl CallMetrics for Counted {
    fn record_call(&self, operation: &'static str, result: &'static str) {
        self.0.cloud_called(operation, result);
    }

    fn record_lookup(&self, hit: bool) {
        let result = if hit { "hit" } else { "miss" };
        self.1.0.get_or_create(&[("result", result)]).inc();
    }
}

pub(crate) fn of(shared: &Arc<Shared>, machines: &MachineTimings) -> Parts {
    let clock = Arc::clone(&shared.clock);
    let tasks = shared.tasks.clone();
    let timings = &shared.timings;
    Parts {
        secrets: Arc::new(ClusterSecrets::new(&shared.control)),
        platform: Arc::new(ClusterPlatform::new(shared)),
        metrics: Arc::new(Counted(Arc::clone(&shared.metrics), shared.metrics.of())),
        clock: Arc::new(move || clock.uptime()),
        spawn: Arc::new(move |task| {
            let stop = tasks.stopping();
            tasks.spawn("provider", async move {
                stop.run_until_cancelled(task).await;
            });
        }),
        timings: CloudTimings {
            consistency: machines.consistency,
            request: timings.cloud_call,
            retry: timings.retry,
        },
    }
}
