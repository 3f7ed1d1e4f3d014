//! The metric of the cluster's platform.

use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

#[derive(Debug)]
pub(crate) struct PlatformMetrics(Family<Labels, Gauge>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    platform: String,
    provider: &'static str,
}

impl MetricSet for PlatformMetrics {
    fn register(registry: &mut Registry) -> Self {
        let family = Family::<Labels, Gauge>::default();
        let help = "1 for the platform of the cluster and the provider that manages its Machines";
        registry.register("platform", help, family.clone());
        Self(family)
    }
}

impl PlatformMetrics {
    /// Shows platform and provider ("none" without a provider) instead of the previous ones.
    pub(super) fn show(&self, platform: &str, provider: &'static str) {
        self.0.clear();
        self.0.get_or_create(&Labels { platform: platform.to_owned(), provider }).set(1);
    }
}
