//! Refused evictions, per machine. Losing them is harmless: whoever refused will refuse again, and the pauses begin anew.

use std::collections::HashMap;

use super::Attempt;
use jiff::Timestamp;
use machinist_domain::key::Uid;
use parking_lot::Mutex;

use super::plan::{Outcome, Plan};
use super::report::attempts_after;
use super::snapshot::View;

/// What was refused, by the uid of the machine.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<Uid, HashMap<Uid, Attempt>>>);

impl Attempts {
    /// What was refused to the drain of this machine, by the uid of the pod; `None` if this process has not had to do with it yet.
    pub fn get(&self, machine: &Uid) -> Option<HashMap<Uid, Attempt>> {
        self.0.lock().get(machine).cloned()
    }

    /// Keeps what came of a pass. Pods that are gone are forgotten, unless nobody could look whether they are.
    pub fn update(&self, view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) {
        let known = match view.pods.known() {
            Some(_) => attempts_after(view, plan, outcome, now),
            None => view.attempts.clone(),
        };
        self.0.lock().insert(view.subject.uid.clone(), known);
    }

    /// Forgets a machine.
    pub fn forget(&self, machine: &Uid) {
        self.0.lock().remove(machine);
    }
}
