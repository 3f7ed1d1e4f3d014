//! Waits for an API server, however long it takes.

use crate::cluster::{ApiError, Session};
use crate::timings::Timings;

pub(crate) async fn wait_ready(session: &Session, timings: &Timings) {
    let mut failures = 0;
    loop {
        match session.get("/readyz", "*/*", timings.request).await {
            // A rejection is an answer as well.
            Ok(_) | Err(ApiError::Refused { code: 400..=428, .. }) => return,
            Err(error) => {
                failures += 1;
                tracing::warn!(%error, failures, "waiting for the API server");
                tokio::time::sleep(timings.wait_for_api.delay(failures, fastrand::f64())).await;
            }
        }
    }
}
