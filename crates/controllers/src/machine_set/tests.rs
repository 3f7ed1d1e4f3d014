use std::sync::Arc;

use machinist_runtime::clock::ManualClock;

use super::samples::Unread;
use super::{MachineSetController, Settings};
use crate::kinds::{MachineSets, Machines};
use crate::test_process;

/// A controller that no API server answers.
pub(super) fn controller(clock: &Arc<ManualClock>) -> MachineSetController {
    let shared = test_process::shared(None, clock);
    let (sets, machines) = (MachineSets::new(Arc::new(Unread)), Machines::new(Arc::new(Unread)));
    MachineSetController::new(&shared, sets, machines, Settings::default())
}
