pub(crate) mod ec2_instance;
pub(crate) mod find;
pub(crate) mod instance;
pub(crate) mod together;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::ownership::TAG_MACHINE_UID;
use machinist_provider::cloud::{CloudError, ErrorClass, Instance, MachineRef, ObservedInstance};
use tokio::time::Instant;

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::Ec2Machines;
use crate::machines::cluster_settings::ClusterSettings;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::find::{Depth, Found, find};
use crate::machines::load_balancers::desired::may_be_balanced;
use crate::machines::load_balancers::{Balancers, READ_ALL_TIMEOUT, Registrations};
use crate::machines::region::in_stored_region;
use crate::messages;

type Domains = HashMap<String, Arc<[String]>>;

struct Look {
    ec2: Arc<Ec2>,
    finds: Found,
    domains: Domains,
    /// The uptime of the request.
    asked: Duration,
}

impl Look {
    fn instance(
        &self,
        found: &Ec2Instance,
        machine: &MachineRef,
        settings: Option<&ClusterSettings>,
    ) -> Instance {
        let domains = found.vpc.as_ref().and_then(|vpc| self.domains.get(vpc));
        let domains = domains.map_or(&[][..], |domains| domains);
        let drift = instance::drift(found, machine, settings);
        let region = &machine.access.region;
        Instance { drift, ..instance::instance(found, Some(machine), region, domains) }
    }
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
                    for place in &places {
                        let machine = &machines[*place];
                        observed[*place] = self.observe(machine, &look, settings.as_ref()).await;
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
        let mut known = Registrations::new();
        for (look, places) in looks {
            // Without settings the endpoint is unknown.
            let balancers = settings.as_ref().map(|settings| Balancers::of(&look.ec2, settings));
            for place in places {
                let machine = &*machines[place];
                if let ObservedInstance::Present(instance) = &mut observed[place]
                    && may_be_balanced(machine)
                    && let Some(found) = look.finds.current(machine)
                {
                    let instance = Arc::make_mut(instance);
                    let balancers = balancers.as_ref();
                    self.compare(balancers, machine, found, deadline, &mut known, instance).await;
                }
            }
        }
        observed
    }

    async fn look(
        &self,
        access: &CloudAccess,
        machines: &[&MachineRef],
    ) -> Result<Look, CloudError> {
        let ec2 = self.client(access).await?;
        let asked = (self.parts.clock)();
        let classified = |error: AwsError| ec2.classify(&error);
        let finds = find(&ec2, machines, Depth::Current).await.map_err(classified)?;
        let domains = self.domains(&ec2, finds.0.iter()).await.map_err(classified)?;
        Ok(Look { ec2, finds, domains, asked })
    }

    async fn domains<'a>(
        &self,
        ec2: &Ec2,
        found: impl Iterator<Item = &'a Ec2Instance>,
    ) -> Result<Domains, AwsError> {
        let mut domains = Domains::new();
        for found in found.filter(|found| found.private_dns.is_some() && found.exists()) {
            if let Some(vpc) = found.vpc.as_ref().filter(|vpc| !domains.contains_key(*vpc)) {
                let names = self.resolver.domains(ec2, vpc).await?;
                domains.insert(vpc.clone(), names);
            }
        }
        Ok(domains)
    }

    async fn observe(
        &self,
        machine: &MachineRef,
        look: &Look,
        settings: Option<&ClusterSettings>,
    ) -> ObservedInstance {
        if let Some(foreign) = look.finds.foreign(machine) {
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
        if let Some(found) = look.finds.current(machine) {
            self.absences.forget(&machine.uid);
            return ObservedInstance::Present(look.instance(found, machine, settings).into());
        }
        match self.may_still_appear(machine, look.asked) {
            None => match self.executor(&look.ec2, machine).check_account().await {
                Ok(()) => ObservedInstance::Absent,
                Err(error) => ObservedInstance::Unknown(error.failure()),
            },
            Some(wait) => ObservedInstance::Unknown(Failure {
                category: Category::Unavailable,
                // Not an error: it is too early to be certain.
                retry: Retry::Again(wait),
                message: messages::not_listed_yet("EC2"),
            }),
        }
    }

    pub(crate) async fn update_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let machine = &*in_stored_region(machine);
        let look = self.look(&machine.access, &[machine]).await?;
        let found = look.finds.current(machine).filter(|found| found.exists());
        let found = found.ok_or_else(|| {
            CloudError::new(ErrorClass::NotFound, messages::no_instance(&machine.key))
        })?;
        let settings = self.cluster_settings().await?;
        let mut repaired = found.clone();
        // Load balancers first: they matter more than tags. Each is tried even if the other fails.
        let registered = self.executor(&look.ec2, machine).register(found, &settings).await;
        let missing = instance::missing_tags(found, machine, Some(&settings));
        if !missing.is_empty() {
            let tagged = look.ec2.tag(&found.id, &missing).await;
            registered.clone().and(tagged.map_err(|error| look.ec2.classify(&error)))?;
            repaired.tags.extend(missing);
        }
        registered?;
        Ok(look.instance(&repaired, machine, Some(&settings)))
    }
}
