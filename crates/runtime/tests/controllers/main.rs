//! The runtime with toy controllers on a real API server: starting, sharing, stopping.

mod tests;
mod toys;
