//! How a provider's calls are counted.

/// Counts the calls of a provider.
pub trait CallMetrics: Send + Sync {
    /// Counts a call; `result` is `ok` or the category of its failure.
    fn record_call(&self, operation: &'static str, result: &'static str);
    /// Counts a cache hit or miss.
    fn record_lookup(&self, hit: bool);
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl CallMetrics for NoMetrics {
    fn record_call(&self, _operation: &'static str, _result: &'static str) {}
    fn record_lookup(&self, _hit: bool) {}
}
