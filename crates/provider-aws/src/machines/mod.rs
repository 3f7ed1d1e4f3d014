//! The EC2 instances of Machines.
//!
//! Invariants: an instance is requested with a token from uid and attempt and with stored values only; it is found by
//! the Machine's uid or by a stored id; resources of another Machine are never changed. Nothing is retried here.

mod account;
mod calls;
pub(crate) mod cluster_settings;
mod delete;
mod describe;
mod errors;
mod hosts;
mod launch;
mod load_balancers;
mod orphans;
#[cfg(test)]
mod policy_tests;
mod region;
pub(crate) mod tags;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_provider::Pending;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::absence::Absences;
use machinist_provider::cloud::{
    Cloud, CloudError, Deletion, Instance, MachineRef, ObservedInstance, Owned, ProviderStatus,
    Reach,
};
use machinist_provider::parts::Parts;

pub(crate) use self::describe::ec2_instance::Ec2Instance;
use self::describe::instance::with_failed_condition;
use self::describe::together::Searches;
pub(crate) use self::errors::{ErrorContext, classify, not_sent};
use self::launch::resolve::{Resolver, keep_answer};
use self::load_balancers::TargetLookups;
use crate::client::{Connector, ENDPOINT_SERVICE};
use crate::clients::Clients;
use crate::ec2::Ec2;

pub(crate) struct Ec2Machines {
    parts: Parts,
    clients: Clients,
    resolver: Resolver,
    absences: Absences,
    host_lookup_denied: Absences,
    unknown_hosts: Absences<String>,
    targets: TargetLookups,
    searches: Searches,
}

#[derive(Clone, Copy)]
pub(crate) struct Executor<'a> {
    machines: &'a Ec2Machines,
    ec2: &'a Ec2,
    machine: &'a MachineRef,
}

impl fmt::Debug for Ec2Machines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ec2Machines").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl Ec2Machines {
    pub(crate) fn new(parts: &Parts, connector: Connector) -> Self {
        Self {
            clients: Clients::new(connector, Arc::clone(&parts.clock)),
            resolver: Resolver::new(&parts.clock),
            absences: Absences::default(),
            host_lookup_denied: Absences::default(),
            unknown_hosts: Absences::default(),
            targets: TargetLookups::new(&parts.clock, keep_answer),
            searches: Searches::default(),
            parts: parts.clone(),
        }
    }

    fn executor<'a>(&'a self, ec2: &'a Ec2, machine: &'a MachineRef) -> Executor<'a> {
        Executor { machines: self, ec2, machine }
    }

    async fn client(&self, access: &CloudAccess) -> Result<Arc<Ec2>, CloudError> {
        self.clients.get(access).await.map_err(|error| classify(&error, ErrorContext::of(access)))
    }

    /// The remaining wait until "not found" counts. `asked` is the uptime of the request. A Machine without stored
    /// state waits too: another controller creates first and stores afterwards.
    fn may_still_appear(&self, machine: &MachineRef, asked: Duration) -> Option<Duration> {
        let missed = self.absences.missed(&machine.uid, asked);
        self.parts.timings.consistency.checked_sub(missed).filter(|left| !left.is_zero())
    }
}

impl Cloud for Ec2Machines {
    fn prepare<'a>(
        &'a self,
        machine: &'a MachineRef,
    ) -> Pending<'a, Result<ProviderStatus, CloudError>> {
        Box::pin(self.prepare_now(machine))
    }

    fn create<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(self.create_now(machine))
    }

    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>> {
        Box::pin(self.describe_now(machines))
    }

    fn update<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(self.update_now(machine))
    }

    fn delete<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(self.delete_now(machine))
    }

    fn list<'a>(&'a self, within: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>> {
        Box::pin(self.list_now(within))
    }

    fn delete_orphan<'a>(
        &'a self,
        within: &'a Reach,
        orphan: &'a Owned,
    ) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(self.delete_orphan_now(within, orphan))
    }

    fn failed_status(
        &self,
        status: &ProviderStatus,
        message: &str,
        now: Timestamp,
    ) -> Option<ProviderStatus> {
        Some(with_failed_condition(status, message, now))
    }

    fn endpoint_service(&self) -> Option<&'static str> {
        Some(ENDPOINT_SERVICE)
    }
}
