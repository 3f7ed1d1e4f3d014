//! Waits for an API server, as long as it takes: a controller that starts before its cluster is early, not broken.

use crate::cluster::{ApiError, Session};
use crate::timings::Timings;

/// Returns when the API server answers that it is ready.
pub async fn wait_ready(session: &Session, timings: &Timings) {
    let mut failures = 0;
    loop {
        match session.get("/readyz", "*/*", timings.request).await {
            // The second means that somebody is there who will not tell us how it is. That is an answer.
            Ok(_) | Err(ApiError::Refused { code: 400..=428, .. }) => return,
            Err(error) => {
                failures += 1;
                tracing::warn!(%error, failures, "waiting for the API server");
                tokio::time::sleep(timings.wait_for_api.delay(failures, fastrand::f64())).await;
            }
        }
    }
}
