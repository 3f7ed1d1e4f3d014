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

impl Searches {
    fn join(&self, machine: &MachineRef) -> Arc<Search> {
        let mut open = self.0.lock();
        let search = open.entry(machine.access.clone()).or_default();
        search.machines.lock().push(machine.clone());
        Arc::clone(search)
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
        let search = self.searches.join(machine);
        let run = || {
            // Boxed, because the futures of an SDK call take tens of kilobytes.
            Box::pin(async {
                tokio::time::sleep(GATHER).await;
                let machines = self.searches.close(&machine.access, &search);
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
