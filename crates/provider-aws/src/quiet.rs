//! Suppresses the logs of the SDK: at INFO it logs access key ids, at TRACE signed requests with session tokens.

use tracing::instrument::{WithDispatch, WithSubscriber};
use tracing::subscriber::NoSubscriber;

pub(crate) fn quiet<F>(future: F) -> WithDispatch<F> {
    future.with_subscriber(NoSubscriber::default())
}
