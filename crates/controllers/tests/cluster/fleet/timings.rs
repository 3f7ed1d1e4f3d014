//! How fast everything is here.

use std::time::Duration;

use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::timings::Timings;

/// How much faster than life everything is here, the cloud included.
pub(crate) const SPEED: f64 = 50.0;

/// A fiftieth of life, apart from what a busy machine would turn into a failure. The resync does not come round.
pub(crate) fn timings() -> Timings {
    let usual = Timings::default();
    let mut quick = usual.scaled(SPEED.recip());
    quick.sync_period = usual.sync_period;
    quick.request = Duration::from_secs(2);
    quick.cloud_call = Duration::from_secs(2);
    quick.lease = Duration::from_secs(6);
    quick
}

pub(crate) fn machine_timings() -> MachineTimings {
    let usual = MachineTimings::default();
    MachineTimings {
        creation: Duration::from_hours(1),
        drain: Some(Duration::from_hours(1)),
        // Reconciles are not faster than in production; Machines whose reconciles follow each other are described
        // together.
        gather: usual.gather,
        ..usual.scaled(SPEED.recip())
    }
}
