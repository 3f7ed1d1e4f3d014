//! How long things may take, and how long something must stay as it is.

use std::time::Duration;

pub(crate) use machinist_testbed::poll::holds_for;

/// For what has no bound of its own: far more than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// By how much a bound of the protocol may be exceeded on a busy machine.
pub(crate) const SLACK: u32 = 3;

/// The length of a disturbance: short by default, as long as in life with `MACHINIST_LONG=1`.
pub(crate) fn disturbance(short: Duration, long: Duration) -> Duration {
    let wanted = std::env::var("MACHINIST_LONG").is_ok_and(|value| value == "1");
    let length = if wanted { long } else { short };
    println!("disturbing for {length:?} (MACHINIST_LONG=1: {long:?})");
    length
}
