//! Describes, updates and lists instances.

pub(crate) mod ec2_instance;
pub(crate) mod find;
pub(crate) mod instance;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::ownership::{Ownership, TAG_CLUSTER, TAG_MACHINE_UID};
use machinist_provider::cloud::{
    CloudError, ErrorClass, Instance, MachineRef, ObservedInstance, Owned, Reach,
};
use tokio::time::Instant;

use self::instance::InstanceContext;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::Ec2Machines;
use crate::machines::calls::filter;
use crate::machines::cluster_settings::ClusterSettings;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::find::{Depth, Index, SearchResult, find};
use crate::machines::errors::{ErrorContext, classify};
use crate::machines::load_balancers::desired::may_be_balanced;
use crate::machines::load_balancers::{self, READ_ALL_TIMEOUT, Registrations};
use crate::machines::region::in_stored_region;
use crate::messages;

/// Domain names by VPC.
type Domains = HashMap<String, Arc<[String]>>;

struct Look {
    ec2: Arc<Ec2>,
    finds: SearchResult,
    domains: Domains,
    /// The uptime of the request.
    asked: Duration,
}

impl Ec2Machines {
    pub(crate) async fn describe_now(&self, machines: &[MachineRef]) -> Vec<ObservedInstance> {
        let machines: Vec<_> = machines.iter().map(in_stored_region).collect();
        let mut observed = vec![ObservedInstance::NotAsked; machines.len()];
        let mut accesses: Vec<(&CloudAccess, Vec<usize>)> = Vec::new();
        for (place, machine) in machines.iter().enumerate() {
            match accesses.iter_mut().find(|(access, _)| **access == machine.access) {
                Some((_, places)) => places.push(place),
                None => accesses.push((&machine.access, vec![place])),
            }
        }
        // Tags of unknown settings do not count as missing.
        let settings = self.cluster_settings().await.ok();
        let mut looks = Vec::new();
        for (access, places) in accesses {
            let asked: Vec<_> = places.iter().map(|place| &*machines[*place]).collect();
            match self.look(access, &asked).await {
                Ok(look) => {
                    let index = look.finds.index();
                    for place in &places {
                        let machine = &machines[*place];
                        observed[*place] =
                            self.observe(machine, &look, &index, settings.as_ref()).await;
                    }
                    looks.push((look, places));
                }
                Err(error) => {
                    for place in places {
                        observed[place] = ObservedInstance::Unknown(error.failure());
                    }
                }
            }
        }
        let deadline = Instant::now() + READ_ALL_TIMEOUT;
        for (look, places) in looks {
            let balanced = places.into_iter().filter(|place| may_be_balanced(&machines[*place]));
            let balanced = balanced.map(|place| (place, &*machines[place])).collect();
            self.add_registrations(&look, balanced, settings.as_ref(), deadline, &mut observed)
                .await;
        }
        observed
    }

    async fn add_registrations(
        &self,
        look: &Look,
        balanced: Vec<(usize, &MachineRef)>,
        settings: Option<&ClusterSettings>,
        deadline: Instant,
        observed: &mut [ObservedInstance],
    ) {
        let index = look.finds.index();
        let mut instances = Vec::new();
        for (place, machine) in balanced {
            if matches!(observed[place], ObservedInstance::Present(_))
                && let Some(found) = instance::current(&index.own(machine), machine)
            {
                instances.push((place, machine, found));
            }
        }
        let asking: Vec<_> =
            instances.iter().map(|(_, machine, found)| (*machine, *found)).collect();
        let known = match settings {
            Some(settings) => self.registrations(&look.ec2, &asking, settings, deadline).await,
            // Without settings the endpoint is unknown.
            None => Registrations::new(),
        };
        for (place, machine, found) in instances {
            let ObservedInstance::Present(instance) = &mut observed[place] else { continue };
            if load_balancers::is_uncertain(machine, found, &known) {
                Arc::make_mut(instance).uncertain = true;
            }
            if let Some(more) = load_balancers::drift(machine, found, &known) {
                instance::add_drift(Arc::make_mut(instance), &more);
            }
        }
    }

    async fn look(
        &self,
        access: &CloudAccess,
        machines: &[&MachineRef],
    ) -> Result<Look, CloudError> {
        let ec2 = self.client(access).await?;
        let asked = (self.parts.clock)();
        let classified = |error: AwsError| classify(&error, ErrorContext::of(access));
        let finds = find(&ec2, machines, Depth::Current).await.map_err(classified)?;
        let domains = self.domains(&ec2, access, finds.iter()).await.map_err(classified)?;
        Ok(Look { ec2, finds, domains, asked })
    }

    async fn domains<'a>(
        &self,
        ec2: &Ec2,
        access: &CloudAccess,
        found: impl Iterator<Item = &'a Ec2Instance>,
    ) -> Result<Domains, AwsError> {
        let mut domains = Domains::new();
        for found in found.filter(|found| found.private_dns.is_some() && found.exists()) {
            if let Some(vpc) = found.vpc.as_ref().filter(|vpc| !domains.contains_key(*vpc)) {
                let names = self.resolver.domains(ec2, access, vpc).await?;
                domains.insert(vpc.clone(), names);
            }
        }
        Ok(domains)
    }

    async fn observe(
        &self,
        machine: &MachineRef,
        look: &Look,
        index: &Index<'_>,
        settings: Option<&ClusterSettings>,
    ) -> ObservedInstance {
        if let Some(foreign) = index.foreign(machine) {
            return ObservedInstance::Unknown(Failure {
                category: Category::InvalidConfiguration,
                retry: Retry::OnChange,
                message: messages::foreign_instance(
                    &foreign.id,
                    machine,
                    foreign.tag(TAG_MACHINE_UID),
                ),
            });
        }
        if let Some(found) = instance::current(&index.own(machine), machine) {
            self.absences.forget(&machine.uid);
            let context = instance_context(machine, found, &look.domains, settings);
            return ObservedInstance::Present(instance::instance(found, context).into());
        }
        match self.may_still_appear(machine, look.asked) {
            None => match self.check_account(&look.ec2, machine).await {
                Ok(()) => ObservedInstance::Absent,
                Err(error) => ObservedInstance::Unknown(error.failure()),
            },
            Some(wait) => ObservedInstance::Unknown(Failure {
                category: Category::Unavailable,
                // Not an error: it is too early to be certain.
                retry: Retry::Again(wait),
                message: messages::INSTANCE_NOT_LISTED.to_owned(),
            }),
        }
    }

    pub(crate) async fn update_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let machine = &*in_stored_region(machine);
        let access = &machine.access;
        let look = self.look(access, &[machine]).await?;
        let index = look.finds.index();
        let found = instance::current(&index.own(machine), machine).filter(|found| found.exists());
        let found = found
            .ok_or_else(|| CloudError::new(ErrorClass::NotFound, messages::no_instance(machine)))?;
        let settings = self.cluster_settings().await?;
        let seen = |found: &Ec2Instance| {
            instance::instance(
                found,
                instance_context(machine, found, &look.domains, Some(&settings)),
            )
        };
        let classified = |error: AwsError| classify(&error, ErrorContext::of(access));
        let mut repaired = found.clone();
        // Load balancers first: they matter more than tags. Each is tried even if the other fails.
        let registered = self.register(&look.ec2, machine, found, &settings).await;
        let missing = instance::missing_tags(found, machine, Some(&settings));
        if !missing.is_empty() {
            let tagged = look.ec2.tag(&found.id, &missing).await;
            registered.clone().and(tagged.map_err(classified))?;
            repaired.tags.extend(missing);
        }
        registered?;
        Ok(seen(&repaired))
    }

    pub(crate) async fn list_now(&self, within: &Reach) -> Result<Vec<Owned>, CloudError> {
        let access = &within.access;
        let ec2 = self.client(access).await?;
        let filters = vec![filter(format!("tag:{TAG_CLUSTER}"), [&*within.cluster])];
        let found = ec2.instances(filters).await;
        let found = found.map_err(|error| classify(&error, ErrorContext::of(access)))?;
        let owned = found.iter().filter(|found| found.exists()).filter_map(|found| {
            let ownership = Ownership::read(|tag| found.tag(tag))?;
            let context = InstanceContext {
                machine: None,
                region: &access.region,
                domains: &[],
                settings: None,
            };
            (ownership.cluster == within.cluster).then(|| Owned {
                machine_uid: ownership.machine_uid,
                instance: instance::instance(found, context),
                created: found.launched,
            })
        });
        Ok(owned.collect())
    }
}

fn instance_context<'a>(
    machine: &'a MachineRef,
    found: &Ec2Instance,
    domains: &'a Domains,
    settings: Option<&'a ClusterSettings>,
) -> InstanceContext<'a> {
    let domains = found.vpc.as_ref().and_then(|vpc| domains.get(vpc));
    InstanceContext {
        machine: Some(machine),
        region: &machine.access.region,
        domains: domains.map_or(&[], |domains| domains),
        settings,
    }
}
