//! Finds the instances of Machines that are deleted at the same time with the same requests: each worker of the
//! controller waits for its own deletion, so a mass deletion would otherwise search once per Machine and poll.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, MachineRef};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::ec2::Ec2;
use crate::machines::Ec2Machines;
use crate::machines::describe::find::{Depth, Found, find};

/// How long Machines are collected for one search.
const GATHER: Duration = Duration::from_millis(50);

/// The searches that have not begun.
#[derive(Default)]
pub(crate) struct Searches(Mutex<HashMap<CloudAccess, Arc<Search>>>);

#[derive(Default)]
struct Search {
    machines: Mutex<Vec<MachineRef>>,
    /// Any caller that waits may run it: a cancelled one does not end the others.
    answer: OnceCell<Result<Arc<Searched>, CloudError>>,
}

/// Everything that was ever created for the Machines of a search.
pub(crate) struct Searched {
    pub(crate) found: Found,
    /// The uptime of the request.
    pub(crate) asked: Duration,
}

/// A Machine in a search. A deletion that is cancelled leaves it, and the last one takes the search along.
struct Waiting<'a> {
    searches: &'a Searches,
    machine: &'a MachineRef,
    search: Arc<Search>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut open = self.searches.0.lock();
        let mut machines = self.search.machines.lock();
        if let Some(at) = machines.iter().position(|other| other.uid == self.machine.uid) {
            machines.remove(at);
        }
        let access = &self.machine.access;
        let is_open = open.get(access).is_some_and(|current| Arc::ptr_eq(current, &self.search));
        if machines.is_empty() && is_open {
            open.remove(access);
        }
    }
}

impl Searches {
    fn join<'a>(&'a self, machine: &'a MachineRef) -> Waiting<'a> {
        let mut open = self.0.lock();
        let search = open.entry(machine.access.clone()).or_default();
        search.machines.lock().push(machine.clone());
        Waiting { searches: self, machine, search: Arc::clone(search) }
    }

    /// No Machine joins it any more.
    fn close(&self, access: &CloudAccess, search: &Arc<Search>) -> Vec<MachineRef> {
        let mut open = self.0.lock();
        if open.get(access).is_some_and(|current| Arc::ptr_eq(current, search)) {
            open.remove(access);
        }
        search.machines.lock().clone()
    }
}

impl Ec2Machines {
    /// As [`find`] with [`Depth::All`], together with other Machines of the same access.
    pub(crate) async fn find_together(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<Arc<Searched>, CloudError> {
        let waiting = self.searches.join(machine);
        let search = &waiting.search;
        let run = || {
            // Boxed, because the futures of an SDK call take tens of kilobytes.
            Box::pin(async {
                tokio::time::sleep(GATHER).await;
                let machines = self.searches.close(&machine.access, search);
                let asked = (self.parts.clock)();
                let machines: Vec<_> = machines.iter().collect();
                let found = find(ec2, &machines, Depth::All).await;
                let found = found.map_err(|error| ec2.classify(&error))?;
                Ok(Arc::new(Searched { found, asked }))
            })
        };
        search.answer.get_or_init(run).await.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::machine;

    #[test]
    fn a_cancelled_deletion_leaves_nothing_behind() {
        let (searches, one, two) = (Searches::default(), machine("one"), machine("two"));
        let (first, second) = (searches.join(&one), searches.join(&two));
        assert!(Arc::ptr_eq(&first.search, &second.search));
        drop(first);
        let left = searches.close(&two.access, &second.search);
        assert_eq!(left.iter().map(|machine| &*machine.uid.0).collect::<Vec<_>>(), ["two"]);

        let third = searches.join(&one);
        assert!(!Arc::ptr_eq(&second.search, &third.search), "the second one has begun");
        drop(second);
        assert_eq!(searches.0.lock().len(), 1);
        drop(third);
        assert!(searches.0.lock().is_empty());
    }
}
