//! How a provider's calls are counted, whoever counts them.

/// Hears of every call to a cloud.
pub trait Witness: Send + Sync {
    /// A call has been answered, or not: `result` is `ok` or the category of its failure.
    fn called(&self, operation: &'static str, result: &'static str);
    /// A question was answered from memory, or had to be asked.
    fn looked(&self, hit: bool);
}

/// Nobody counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwitnessed;

impl Witness for Unwitnessed {
    fn called(&self, _operation: &'static str, _result: &'static str) {}
    fn looked(&self, _hit: bool) {}
}
