//! What the tests stand on: the [`annotator`] as a process, the [`world`] that it runs in, which may be on
//! [`openshift`], [`cloud`] for EC2.

mod account;
pub(crate) mod annotator;
pub(crate) mod cloud;
mod openshift;
pub(crate) mod world;

use std::time::Duration;

use anyhow::Result;
use machinist_testbed::poll;

/// Far more than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long something that must not happen is waited for: many times as long as it would take to happen.
const A_WHILE: Duration = Duration::from_millis(800);

/// Fails as soon as `check` does, within a while.
pub(crate) async fn stays(what: &str, check: impl AsyncFnMut() -> Result<()>) -> Result<()> {
    poll::holds_for(A_WHILE, what, check).await
}
