//! Refused evictions per Machine. They may be lost: the eviction is refused again, with the first delay.

use std::collections::HashMap;

use jiff::Timestamp;
use machinist_domain::key::Uid;
use parking_lot::Mutex;

use super::Attempt;
use super::plan::{Outcome, Plan};
use super::report::attempts_after;
use super::snapshot::View;

/// Refused evictions by the uid of the Machine.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<Uid, HashMap<Uid, Attempt>>>);

impl Attempts {
    /// The refused evictions by pod uid; `None` if this process has not reconciled the drain yet.
    pub fn get(&self, machine: &Uid) -> Option<HashMap<Uid, Attempt>> {
        self.0.lock().get(machine).cloned()
    }

    /// Stores the result of a reconcile. Deleted pods are dropped, unless the pods could not be listed.
    pub fn update(&self, view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) {
        let known = match view.pods.present() {
            Some(_) => attempts_after(view, plan, outcome, now),
            None => view.attempts.clone(),
        };
        self.0.lock().insert(view.subject.uid.clone(), known);
    }

    /// Forgets a Machine.
    pub fn forget(&self, machine: &Uid) {
        self.0.lock().remove(machine);
    }
}
