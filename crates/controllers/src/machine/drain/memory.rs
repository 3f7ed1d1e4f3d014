//! Refused evictions, per machine. Losing them is harmless: whoever refused will refuse again, and the pauses begin anew.

use std::collections::HashMap;

use jiff::Timestamp;
use machinist_domain::drain::Attempt;
use machinist_domain::key::Uid;
use parking_lot::Mutex;

use super::plan::{Done, Verdict};
use super::report::attempts_after;
use super::snapshot::View;

/// What was refused, by the uid of the machine.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<Uid, HashMap<Uid, Attempt>>>);

impl Memory {
    /// What was refused to the drain of this machine, by the uid of the pod; `None` if this process has not had to do with it yet.
    pub fn recall(&self, machine: &Uid) -> Option<HashMap<Uid, Attempt>> {
        self.0.lock().get(machine).cloned()
    }

    /// Keeps what came of a pass. Pods that are gone are forgotten, unless nobody could look whether they are.
    pub fn learn(&self, view: &View, verdict: &Verdict, done: &Done, now: Timestamp) {
        let known = match view.pods.known() {
            Some(_) => attempts_after(view, verdict, done, now),
            None => view.attempts.clone(),
        };
        self.0.lock().insert(view.subject.uid.clone(), known);
    }

    /// Forgets a machine.
    pub fn forget(&self, machine: &Uid) {
        self.0.lock().remove(machine);
    }
}
