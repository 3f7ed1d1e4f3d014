//! Keeps the SDK out of the log.
//!
//! The SDK logs credentials with only their secret half hidden (`loaded base credentials` at INFO has the access key id), and whole signed
//! requests with session tokens at TRACE. What is worth knowing about a call is in its result, and we log that ourselves.

use tracing::instrument::{WithDispatch, WithSubscriber};
use tracing::subscriber::NoSubscriber;

/// The same future, but nothing that happens while it is polled is logged.
pub(crate) fn quiet<F>(future: F) -> WithDispatch<F> {
    future.with_subscriber(NoSubscriber::default())
}
