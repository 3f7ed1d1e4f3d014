//! The instances behind machines, in EC2.
//!
//! ```text
//! prepare ── resolve (what the spec leaves open) ── assemble ──> launch, stored on the machine
//! create  ── launch ── hosts ── request (RunInstances) ──┐
//! describe ── find (by id, by tag, by name) ─────────────┤──> found ── sight ──> Instance
//! update, delete, list ── find ──────────────────────────┘
//! ```
//!
//! | file | what |
//! |---|---|
//! | `launch`, `assemble`, `request`, `outdated` | what is stored before an instance is asked for; how it is made; `RunInstances` from it; whether it still is what is wanted |
//! | `resolve` | questions about images and networks, with a short cache |
//! | `find`, `found`, `sight`, `tags` | looking for instances; what EC2 says; what it means; whose they are |
//! | `home`, `evidence` | in which region and account an instance is, whatever the spec says by now; what shows that it is this account |
//! | `balanced`, `registration`, `balancers` | load balancers that are to know an instance; that they do; the calls to them |
//! | `hosts` | dedicated hosts that are made for a machine and go with it |
//! | `errors` | the table from EC2's codes to classes |
//! | `calls`, `clients` | the calls; a client per realm |
//!
//! Invariants: an instance is asked for with a token from uid and attempt and with stored values alone; everything is found by the machine's uid or
//! by a stored id; what belongs to another machine is never touched; nothing is remembered but answers of a few seconds, and for how long
//! something was looked for in vain. Nothing is retried here.

mod assemble;
mod balanced;
mod balancers;
mod calls;
mod clients;
mod create;
mod delete;
mod describe;
mod errors;
mod evidence;
mod find;
mod found;
mod home;
mod hosts;
mod launch;
mod outdated;
#[cfg(test)]
mod policy_tests;
mod registration;
mod request;
mod resolve;
mod sight;
mod surroundings;
mod tags;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_provider::Pending;
use machinist_provider::capacity::Realm;
use machinist_provider::cloud::absence::Absences;
use machinist_provider::cloud::{
    Cloud, CloudError, Deletion, Instance, MachineRef, Owned, ProviderStatus, Reach, Sighting,
};
use machinist_provider::lookups::Lookups;
use machinist_provider::parts::Parts;

pub(crate) use self::clients::Clients;
pub(crate) use self::errors::{At, judge};
pub(crate) use self::found::Found;
use self::registration::{Asked, Members};
use self::resolve::Resolver;
use crate::client::Connector;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::tls::HttpClients;

/// The instances behind machines, in EC2.
pub(crate) struct Ec2Machines {
    parts: Parts,
    clients: Clients,
    resolver: Resolver,
    absences: Absences,
    /// The machines whose dedicated hosts could not be looked for.
    blind: Absences,
    /// The dedicated hosts, by id, that EC2 does not know.
    unknown_hosts: Absences<String>,
    members: Lookups<Asked, Result<Arc<Members>, AwsError>>,
}

impl fmt::Debug for Ec2Machines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ec2Machines").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl Ec2Machines {
    pub(crate) fn new(parts: &Parts, http: Arc<HttpClients>) -> Self {
        let connector = Connector {
            secrets: Arc::clone(&parts.secrets),
            witness: Arc::clone(&parts.witness),
            request_timeout: parts.timings.request,
            page_size: None,
            http,
        };
        Self {
            clients: Clients::new(connector, Arc::clone(&parts.clock)),
            resolver: Resolver::new(parts),
            absences: Absences::default(),
            blind: Absences::default(),
            unknown_hosts: Absences::default(),
            members: Lookups::new(&parts.clock, resolve::keep_answer),
            parts: parts.clone(),
        }
    }

    async fn client(&self, realm: &Realm) -> Result<Arc<Ec2>, CloudError> {
        self.clients.get(realm).await.map_err(|error| judge(&error, At::realm(realm)))
    }

    /// How long it takes until "not found" can be believed; `None`: it can. `asked`: the uptime when the question was asked, not when its answer
    /// came. That nothing is stored proves nothing: another controller asks for an instance first and stores afterwards.
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

    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<Sighting>> {
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
}
