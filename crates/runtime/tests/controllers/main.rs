//! The runtime with toy controllers on a real API server: starting, sharing, stopping.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toys;
