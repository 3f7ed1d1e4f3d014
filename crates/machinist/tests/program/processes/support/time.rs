//! How long things may take, and how long something must stay as it is.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// For what has no bound of its own: far more than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// By how much a bound of the protocol may be exceeded on a busy machine.
pub(crate) const SLACK: u32 = 3;

/// How often something that must stay true is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The length of a disturbance: short by default, as long as in life with `MACHINIST_LONG=1`.
pub(crate) fn disturbance(short: Duration, long: Duration) -> Duration {
    let wanted = std::env::var("MACHINIST_LONG").is_ok_and(|value| value == "1");
    let length = if wanted { long } else { short };
    println!("disturbing for {length:?} (MACHINIST_LONG=1: {long:?})");
    length
}

/// Fails as soon as `check` does, within `length`.
pub(crate) async fn holds_for(
    length: Duration,
    what: &str,
    mut check: impl AsyncFnMut() -> Result<()>,
) -> Result<()> {
    let end = Instant::now() + length;
    loop {
        check().await.with_context(|| what.to_owned())?;
        if Instant::now() >= end {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}
