//! The controllers of machines in one process, much faster than life.

use std::time::Duration;

use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::timings::Timings;
use machinist_testbed::crash::{Launch, RuntimeSubject};
use tokio_util::sync::CancellationToken;

use crate::controllers::Setup;

/// A fiftieth of life, apart from what a busy machine would turn into a failure. The resync repairs nothing: its
/// period is longer than the test.
fn timings() -> Timings {
    let usual = Timings::default();
    let mut quick = usual.scaled(0.02);
    quick.sync_period = usual.sync_period;
    quick.request = Duration::from_secs(2);
    quick.cloud_call = Duration::from_secs(2);
    quick
}

fn machine_timings() -> MachineTimings {
    MachineTimings {
        creation: Duration::from_hours(1),
        drain: Some(Duration::from_hours(1)),
        // Long enough that a status is written once for all Machines of a step.
        machine_debounce: Duration::from_millis(300),
        ..MachineTimings::default().scaled(0.02)
    }
}

/// These controllers, behind the proxy of a world. With a lease that lasts so long where they need one, each process
/// under a name of its own.
pub(crate) fn controllers(
    names: &'static [&'static str],
    lease: Option<Duration>,
) -> RuntimeSubject {
    RuntimeSubject::new(move |launch: Launch| async move {
        let usual = timings();
        let timings = Timings { lease: lease.unwrap_or(usual.lease), ..usual };
        let setup = Setup::new(names, &timings, machine_timings());
        let setup = Setup { leader_elect: Some(lease.is_some()), ..setup };
        let (manager, controllers) = setup.process(&launch)?;
        Ok(manager.run(controllers, CancellationToken::new()).await?)
    })
}
