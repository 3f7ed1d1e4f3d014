use machinist_runtime::metrics::{Labels, MetricSet, Registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

#[derive(Debug)]
pub(super) struct AnnotatorMetrics {
    catalogue_answers: Family<Labels<1>, Counter>,
}

impl MetricSet for AnnotatorMetrics {
    fn register(registry: &mut Registry) -> Self {
        let help =
            "Capacities taken from the built-in catalogue because the cloud API failed, by reason";
        Self { catalogue_answers: registry.add("catalogue_answers", help) }
    }
}

impl AnnotatorMetrics {
    /// `reason` is why the cloud API gave no capacity.
    pub(super) fn catalogue_answered(&self, reason: &'static str) {
        self.catalogue_answers.get_or_create(&[("reason", reason)]).inc();
    }
}
