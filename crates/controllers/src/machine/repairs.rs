//! Failed repairs of drift. A provider that always finds drift would be called at every reconcile, so each Machine
//! pauses after a failed repair, twice as long every time. In memory only: a restart costs one more call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::backoff::Backoff;
use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

use super::snapshot::Unrepaired;

#[derive(Debug)]
pub(super) struct Repairs {
    clock: SharedClock,
    timings: MachineTimings,
    failed: Mutex<HashMap<Uid, Failed>>,
}

#[derive(Debug)]
struct Failed {
    times: u32,
    /// By the clock's uptime.
    until: Duration,
    why: Arc<str>,
}

impl Repairs {
    pub(super) fn new(clock: SharedClock, timings: MachineTimings) -> Self {
        Self { clock, timings, failed: Mutex::default() }
    }

    pub(super) fn failed(&self, machine: &Uid, why: &str) {
        let mut failed = self.failed.lock();
        let times = failed.get(machine).map_or(0, |failed| failed.times).saturating_add(1);
        let MachineTimings { domain_pause: base, domain_pause_max: max, .. } = self.timings;
        let until = self.clock.uptime() + Backoff { base, max }.delay(times, 0.0);
        failed.insert(machine.clone(), Failed { times, until, why: why.into() });
    }

    pub(super) fn forget(&self, machine: &Uid) {
        self.failed.lock().remove(machine);
    }

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
    fn doubles_the_pause_up_to_the_limit_until_a_success() {
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
            assert_eq!(repairs.of(&machine).unwrap().wait, Duration::ZERO, "it may be retried");
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
