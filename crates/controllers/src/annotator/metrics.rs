//! Metrics of the annotator.

use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

#[derive(Debug)]
pub(super) struct AnnotatorMetrics {
    catalogue_answers: Family<Labels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    reason: &'static str,
}

impl MetricSet for AnnotatorMetrics {
    fn register(registry: &mut Registry) -> Self {
        let catalogue_answers = Family::<Labels, Counter>::default();
        let help = "Capacities taken from the built-in catalogue because the cloud API failed";
        registry.register("catalogue_answers", help, catalogue_answers.clone());
        Self { catalogue_answers }
    }
}

impl AnnotatorMetrics {
    /// `reason` is why the cloud API gave no capacity.
    pub(super) fn catalogue_answered(&self, reason: &'static str) {
        self.catalogue_answers.get_or_create(&Labels { reason }).inc();
    }
}
