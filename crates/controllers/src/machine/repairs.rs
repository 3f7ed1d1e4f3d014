//! Repairs that did not help: the cloud refused, or its answer has the same difference again.
//!
//! A provider that always finds something to repair would be called at every pass, for ever. So each machine pauses after a repair that did not
//! help, twice as long every time. In memory only: after a restart it costs one more call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

use super::snapshot::Unrepaired;

/// Past this the pause has long reached its limit.
const MOST_DOUBLINGS: u32 = 16;

/// Which machines could not be repaired.
#[derive(Debug)]
pub(super) struct Repairs {
    clock: SharedClock,
    timings: MachineTimings,
    failed: Mutex<HashMap<Uid, Failed>>,
}

#[derive(Debug)]
struct Failed {
    times: u32,
    /// Until when it is not tried again, by the clock's uptime.
    until: Duration,
    why: Arc<str>,
}

impl Repairs {
    pub(super) fn new(clock: SharedClock, timings: MachineTimings) -> Self {
        Self { clock, timings, failed: Mutex::default() }
    }

    /// A repair did not help.
    pub(super) fn failed(&self, machine: &Uid, why: &str) {
        let mut failed = self.failed.lock();
        let times = failed.get(machine).map_or(0, |failed| failed.times);
        let pause = self.timings.domain_pause.saturating_mul(1 << times.min(MOST_DOUBLINGS));
        let until = self.clock.uptime() + pause.min(self.timings.domain_pause_max);
        let times = times.saturating_add(1);
        failed.insert(machine.clone(), Failed { times, until, why: why.into() });
    }

    /// Nothing is to be repaired any more, or the machine is gone.
    pub(super) fn forget(&self, machine: &Uid) {
        self.failed.lock().remove(machine);
    }

    /// Why the last repair of a machine did not help, if it did not.
    pub(super) fn of(&self, machine: &Uid) -> Option<Unrepaired> {
        let failed = self.failed.lock();
        let Failed { until, why, .. } = failed.get(machine)?;
        let wait = until.saturating_sub(self.clock.uptime());
        Some(Unrepaired { wait, why: Arc::clone(why) })
    }
}

#[cfg(test)]
mod tests {
    use machinist_runtime::clock::ManualClock;

    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_end_with_a_success() {
        let (clock, timings) = (Arc::<ManualClock>::default(), MachineTimings::default());
        let repairs = Repairs::new(clock.clone(), timings);
        let machine = Uid("u".into());
        assert_eq!(repairs.of(&machine), None);
        let mut pauses = Vec::new();
        for _ in 0..40 {
            repairs.failed(&machine, "still differs");
            let Unrepaired { wait, why } = repairs.of(&machine).unwrap();
            assert_eq!(&*why, "still differs");
            clock.advance(wait);
            assert_eq!(repairs.of(&machine).unwrap().wait, Duration::ZERO, "it may be tried");
            pauses.push(wait.as_secs());
        }
        assert_eq!(pauses[..4], [5, 10, 20, 40]);
        assert_eq!(pauses.last(), Some(&timings.domain_pause_max.as_secs()));
        repairs.forget(&machine);
        assert_eq!(repairs.of(&machine), None);
        repairs.failed(&machine, "again");
        assert_eq!(repairs.of(&machine).unwrap().wait, timings.domain_pause);
    }
}
