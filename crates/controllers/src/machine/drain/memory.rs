//! Refused evictions, per machine. Losing them is harmless: whoever refused will refuse again, and the pauses begin anew.

use std::collections::HashMap;

use jiff::Timestamp;
use machinist_domain::drain::Attempt;
use machinist_domain::key::Uid;
use parking_lot::Mutex;

use super::plan::Done;
use super::report::attempts_after;
use super::snapshot::View;

/// What was refused, by the uid of the machine.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<Uid, HashMap<Uid, Attempt>>>);

impl Memory {
    /// What was refused to the drain of this machine, by the uid of the pod.
    pub fn recall(&self, machine: &Uid) -> HashMap<Uid, Attempt> {
        self.0.lock().get(machine).cloned().unwrap_or_default()
    }

    /// Keeps what came of a pass. Pods that are gone are forgotten, unless nobody could look whether they are.
    pub fn learn(&self, view: &View, done: &Done, now: Timestamp) {
        if view.pods.known().is_none() {
            return;
        }
        let known = attempts_after(view, done, now);
        let mut machines = self.0.lock();
        if known.is_empty() {
            machines.remove(&view.subject.uid);
        } else {
            machines.insert(view.subject.uid.clone(), known);
        }
    }

    /// Forgets a machine.
    pub fn forget(&self, machine: &Uid) {
        self.0.lock().remove(machine);
    }
}
