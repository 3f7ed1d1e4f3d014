//! How long things may take, and how long something must stay as it is.

use std::time::Duration;

pub(crate) use machinist_testbed::poll::holds_for;

/// For what has no bound of its own: far more than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// By how much a bound of the protocol may be exceeded on a machine that has a core for every process.
const SLACK: u32 = 3;

/// How long a process may have to wait for a core where other tests run beside this one. `MACHINIST_LONG=1`, on a quiet
/// machine, measures more exactly.
pub(crate) fn busy() -> Duration {
    if is_long() { Duration::ZERO } else { Duration::from_secs(10) }
}

/// How long something may take that the protocol has done within this time.
pub(crate) fn with_slack(bound: Duration) -> Duration {
    bound * SLACK + busy()
}

fn is_long() -> bool {
    std::env::var("MACHINIST_LONG").is_ok_and(|value| value == "1")
}

/// The length of a disturbance: short by default, as long as in life with `MACHINIST_LONG=1`.
pub(crate) fn disturbance(short: Duration, long: Duration) -> Duration {
    let length = if is_long() { long } else { short };
    println!("disturbing for {length:?} (MACHINIST_LONG=1: {long:?})");
    length
}
