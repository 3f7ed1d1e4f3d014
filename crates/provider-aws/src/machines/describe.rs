//! Describing, repairing and listing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::capacity::Realm;
use machinist_provider::cloud::ownership::{Ownership, TAG_CLUSTER, TAG_MACHINE_UID};
use machinist_provider::cloud::{
    CloudError, ErrorClass, Instance, MachineRef, Owned, Reach, Sighting,
};
use tokio::time::Instant;

use super::Ec2Machines;
use super::balanced::may_be_balanced;
use super::calls::filter;
use super::errors::{At, judge};
use super::find::{Depth, Finds, Index, find};
use super::found::Found;
use super::home::at_home;
use super::registration::{self, Known, QUESTIONS};
use super::sight::{self, Around};
use super::surroundings::ClusterFacts;
use crate::ec2::Ec2;
use crate::errors::AwsError;

/// The names of networks, by network.
type Domains = HashMap<String, Arc<[String]>>;

/// What one look at a realm showed.
struct Look {
    ec2: Arc<Ec2>,
    finds: Finds,
    domains: Domains,
    /// The uptime when it was asked.
    asked: Duration,
}

impl Ec2Machines {
    pub(super) async fn describe_now(&self, machines: &[MachineRef]) -> Vec<Sighting> {
        let machines: Vec<_> = machines.iter().map(at_home).collect();
        let mut sightings = vec![Sighting::NotAsked; machines.len()];
        let mut realms: Vec<(&Realm, Vec<usize>)> = Vec::new();
        for (place, machine) in machines.iter().enumerate() {
            match realms.iter_mut().find(|(realm, _)| **realm == machine.realm) {
                Some((_, places)) => places.push(place),
                None => realms.push((&machine.realm, vec![place])),
            }
        }
        // A tag that cannot be known is not missed.
        let facts = self.facts().await.ok();
        let mut looks = Vec::new();
        for (realm, places) in realms {
            let asked: Vec<_> = places.iter().map(|place| &*machines[*place]).collect();
            match self.look(realm, &asked).await {
                Ok(look) => {
                    let index = look.finds.index();
                    for place in &places {
                        let machine = &machines[*place];
                        sightings[*place] =
                            self.sighting(machine, &look, &index, facts.as_ref()).await;
                    }
                    looks.push((look, places));
                }
                Err(error) => {
                    for place in places {
                        sightings[place] = Sighting::Unknown(error.failure());
                    }
                }
            }
        }
        let deadline = Instant::now() + QUESTIONS;
        for (look, places) in looks {
            let balanced = places.into_iter().filter(|place| may_be_balanced(&machines[*place]));
            let balanced = balanced.map(|place| (place, &*machines[place])).collect();
            self.add_registrations(&look, balanced, facts.as_ref(), deadline, &mut sightings).await;
        }
        sightings
    }

    /// Adds to what was seen which load balancers do not know an instance.
    async fn add_registrations(
        &self,
        look: &Look,
        balanced: Vec<(usize, &MachineRef)>,
        facts: Option<&ClusterFacts>,
        deadline: Instant,
        sightings: &mut [Sighting],
    ) {
        let index = look.finds.index();
        let mut instances = Vec::new();
        for (place, machine) in balanced {
            if matches!(sightings[place], Sighting::Present(_))
                && let Some(found) = sight::current(&index.own(machine), machine)
            {
                instances.push((place, machine, found));
            }
        }
        let asking: Vec<_> =
            instances.iter().map(|(_, machine, found)| (*machine, *found)).collect();
        let known = match facts {
            Some(facts) => self.known(&look.ec2, &asking, facts, deadline).await,
            // Whoever does not know where load balancing is does not ask anybody.
            None => Known::new(),
        };
        for (place, machine, found) in instances {
            let Sighting::Present(instance) = &mut sightings[place] else { continue };
            if registration::is_uncertain(machine, found, &known) {
                Arc::make_mut(instance).uncertain = true;
            }
            if let Some(more) = registration::drift(machine, found, &known) {
                sight::add_drift(Arc::make_mut(instance), &more);
            }
        }
    }

    /// What there is of machines of one realm, and what their networks call them.
    async fn look(&self, realm: &Realm, machines: &[&MachineRef]) -> Result<Look, CloudError> {
        let ec2 = self.client(realm).await?;
        let asked = (self.parts.clock)();
        let judged = |error: AwsError| judge(&error, At::realm(realm));
        let finds = find(&ec2, machines, Depth::Current).await.map_err(judged)?;
        let domains = self.domains(&ec2, realm, finds.iter()).await.map_err(judged)?;
        Ok(Look { ec2, finds, domains, asked })
    }

    async fn domains<'a>(
        &self,
        ec2: &Ec2,
        realm: &Realm,
        found: impl Iterator<Item = &'a Found>,
    ) -> Result<Domains, AwsError> {
        let mut domains = Domains::new();
        for found in found.filter(|found| found.private_dns.is_some() && found.exists()) {
            if let Some(vpc) = found.vpc.as_ref().filter(|vpc| !domains.contains_key(*vpc)) {
                let names = self.resolver.domains(ec2, realm, vpc).await?;
                domains.insert(vpc.clone(), names);
            }
        }
        Ok(domains)
    }

    async fn sighting(
        &self,
        machine: &MachineRef,
        look: &Look,
        index: &Index<'_>,
        facts: Option<&ClusterFacts>,
    ) -> Sighting {
        if let Some(foreign) = index.foreign(machine) {
            return Sighting::Unknown(Failure {
                category: Category::InvalidConfiguration,
                retry: Retry::OnChange,
                message: not_its_own(foreign, machine),
            });
        }
        if let Some(found) = sight::current(&index.own(machine), machine) {
            self.absences.forget(&machine.uid);
            let around = around(machine, found, &look.domains, facts);
            return Sighting::Present(sight::instance(found, around).into());
        }
        match self.may_still_appear(machine, look.asked) {
            None => match self.sees_its_account(&look.ec2, machine).await {
                Ok(()) => Sighting::Absent,
                Err(error) => Sighting::Unknown(error.failure()),
            },
            Some(wait) => Sighting::Unknown(Failure {
                category: Category::Unavailable,
                // Not a failure: nothing is wrong, it is only too early to tell.
                retry: Retry::Again(wait),
                message: "not found, but a new instance is not shown at once".to_owned(),
            }),
        }
    }

    pub(super) async fn update_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let machine = &*at_home(machine);
        let realm = &machine.realm;
        let look = self.look(realm, &[machine]).await?;
        let index = look.finds.index();
        let found = sight::current(&index.own(machine), machine).filter(|found| found.exists());
        let found = found.ok_or_else(|| {
            let message = format!("machine {} has no instance", machine.key);
            CloudError::new(ErrorClass::NotFound, message)
        })?;
        let facts = self.facts().await?;
        let seen = |found: &Found| {
            sight::instance(found, around(machine, found, &look.domains, Some(&facts)))
        };
        let judged = |error: AwsError| judge(&error, At::realm(realm));
        let mut repaired = found.clone();
        // An instance without its load balancers is missed by more people than a tag, and each is tried whatever becomes of the other.
        let registered = self.register(&look.ec2, machine, found, &facts).await;
        let missing = sight::missing_tags(found, machine, Some(&facts));
        if !missing.is_empty() {
            let tagged = look.ec2.tag(&found.id, &missing).await;
            registered.clone().and(tagged.map_err(judged))?;
            repaired.tags.extend(missing);
        }
        registered?;
        Ok(seen(&repaired))
    }

    pub(super) async fn list_now(&self, within: &Reach) -> Result<Vec<Owned>, CloudError> {
        let realm = &within.realm;
        let ec2 = self.client(realm).await?;
        let filters = vec![filter(format!("tag:{TAG_CLUSTER}"), [&*within.cluster])];
        let found = ec2.instances(filters).await;
        let found = found.map_err(|error| judge(&error, At::realm(realm)))?;
        let owned = found.iter().filter(|found| found.exists()).filter_map(|found| {
            let ownership = Ownership::read(|tag| found.tag(tag))?;
            let around = Around { machine: None, region: &realm.region, domains: &[], facts: None };
            (ownership.cluster == within.cluster).then(|| Owned {
                machine_uid: ownership.machine_uid,
                instance: sight::instance(found, around),
                created: found.launched,
            })
        });
        Ok(owned.collect())
    }
}

/// Why an instance that a machine names is not taken for its own.
fn not_its_own(foreign: &Found, machine: &MachineRef) -> String {
    let why = match foreign.tag(TAG_MACHINE_UID) {
        Some(other) => format!("its tag {TAG_MACHINE_UID} is that of a machine with uid {other}"),
        None => format!(
            "it has neither the tag {TAG_MACHINE_UID}={}, nor the machine's name, nor the tag of its cluster",
            machine.uid
        ),
    };
    format!("instance {} does not belong to this machine: {why}", foreign.id)
}

fn around<'a>(
    machine: &'a MachineRef,
    found: &Found,
    domains: &'a Domains,
    facts: Option<&'a ClusterFacts>,
) -> Around<'a> {
    let domains = found.vpc.as_ref().and_then(|vpc| domains.get(vpc));
    Around {
        machine: Some(machine),
        region: &machine.realm.region,
        domains: domains.map_or(&[], |domains| domains),
        facts,
    }
}
