//! Suppresses the logs of the SDK.
//!
//! At INFO the SDK logs access key ids, and at TRACE signed requests with session tokens. Results are logged by this
//! crate.

use tracing::instrument::{WithDispatch, WithSubscriber};
use tracing::subscriber::NoSubscriber;

/// Suppresses all logs of a future.
pub(crate) fn quiet<F>(future: F) -> WithDispatch<F> {
    future.with_subscriber(NoSubscriber::default())
}
