use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

#[derive(Debug)]
pub(crate) struct PlatformMetrics(Family<[(&'static str, String); 2], Gauge>);

impl MetricSet for PlatformMetrics {
    fn register(registry: &mut Registry) -> Self {
        let help = "1 for the platform of the cluster and the provider of its Machines, by platform and provider";
        Self(registry.add("platform", help))
    }
}

impl PlatformMetrics {
    /// Shows platform and provider ("none" without a provider) instead of the previous ones.
    pub(super) fn show(&self, platform: &str, provider: &str) {
        self.0.clear();
        let labels = [("platform", platform.to_owned()), ("provider", provider.to_owned())];
        self.0.get_or_create(&labels).set(1);
    }
}
