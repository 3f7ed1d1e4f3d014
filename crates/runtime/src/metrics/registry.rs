//! A registry that lists its metrics for the reference docs. The client's registry encodes only metrics with samples.

use prometheus_client::collector::Collector;
use prometheus_client::registry::Metric;

/// Metrics with a common prefix.
#[derive(Debug, Default)]
pub struct Registry {
    inner: prometheus_client::registry::Registry,
    prefix: String,
    pub(super) descriptions: Vec<Description>,
}

/// A registered metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Description {
    /// The full name.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// The help text.
    pub help: String,
}

impl Registry {
    pub(super) fn with_prefix(prefix: &str) -> Self {
        let inner = prometheus_client::registry::Registry::with_prefix(prefix);
        Self { inner, prefix: format!("{prefix}_"), descriptions: Vec::new() }
    }

    /// Adds a metric without samples.
    pub fn add<M: Metric + Clone + Default>(
        &mut self,
        name: impl Into<String>,
        help: impl Into<String>,
    ) -> M {
        self.register(name, help, M::default())
    }

    /// Adds a metric.
    pub fn register<M: Metric + Clone>(
        &mut self,
        name: impl Into<String>,
        help: impl Into<String>,
        metric: M,
    ) -> M {
        let (name, help) = (name.into(), help.into());
        let kind = metric.metric_type().as_str().to_owned();
        let total = if kind == "counter" { "_total" } else { "" };
        let full_name = format!("{}{name}{total}", self.prefix);
        self.descriptions.push(Description { name: full_name, kind, help: help.clone() });
        self.inner.register(name, help, metric.clone());
        metric
    }

    /// Adds gauges, by name and help text, that `collector` encodes at every scrape.
    pub fn collect(&mut self, gauges: &[(&str, &str)], collector: impl Collector) {
        self.descriptions.extend(gauges.iter().map(|(name, help)| Description {
            name: format!("{}{name}", self.prefix),
            kind: "gauge".to_owned(),
            help: (*help).to_owned(),
        }));
        self.inner.register_collector(Box::new(collector));
    }

    /// Appends the metrics in the OpenMetrics text format.
    pub fn encode(&self, text: &mut String) -> std::fmt::Result {
        prometheus_client::encoding::text::encode_registry(text, &self.inner)
    }
}
