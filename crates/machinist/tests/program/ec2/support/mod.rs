//! What the tests stand on: the [`annotator`] as a process, the [`scene`] that it runs in, which may be on [`openshift`], [`cloud`] for EC2.

pub(crate) mod annotator;
pub(crate) mod cloud;
mod openshift;
pub(crate) mod scene;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Far more than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long something that must not happen is waited for: many times as long as it would take to happen.
const A_WHILE: Duration = Duration::from_millis(800);
const LOOK: Duration = Duration::from_millis(40);

/// Fails as soon as `check` does, within a while.
pub(crate) async fn stays(what: &str, mut check: impl AsyncFnMut() -> Result<()>) -> Result<()> {
    let end = Instant::now() + A_WHILE;
    while Instant::now() < end {
        check().await.with_context(|| what.to_owned())?;
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
