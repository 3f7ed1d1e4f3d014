//! Load balancers that are to know an instance: whether they do, and making them know or forget it.
//!
//! What a load balancer knows is asked once for all machines and remembered for a short time. That it could not be asked hides no instance: the
//! machine is looked at again. One that is gone is told where an instance is to be registered, and does not matter where one goes.

use std::sync::Arc;

use machinist_aws_spec::config::{LoadBalancer, LoadBalancerKind, ProviderConfig};
use machinist_domain::retry::{Category, Classified};
use machinist_provider::capacity::Realm;
use machinist_provider::cloud::{CloudError, InstanceState, MachineRef};
use serde_json::Value;

use super::Ec2Machines;
use super::balancers::{Balancers, Group};
use super::calls::filter;
use super::errors::{At, is_missing, judge};
use super::found::Found;
use super::surroundings::ClusterFacts;
use crate::ec2::Ec2;
use crate::errors::AwsError;

/// The address that load balancers know an instance by: an instance that is gone does not tell it any more.
pub(super) const PRIVATE_IP: &str = "privateIp";

/// A load balancer in a realm: whether it is a classic one, and its name.
pub(super) type Asked = (Realm, bool, String);

/// What a load balancer knows.
#[derive(Debug)]
pub(super) enum Members {
    /// There is no such load balancer.
    Gone,
    Classic(Vec<String>),
    Network(Vec<Group>),
}

impl Members {
    /// Whether everything that belongs to it knows the instance.
    fn know(&self, found: &Found) -> bool {
        match self {
            Self::Gone => false,
            Self::Classic(ids) => ids.contains(&found.id),
            Self::Network(groups) => {
                groups.iter().all(|group| target(group, found).is_none_or(|at| knows(group, at)))
            }
        }
    }
}

fn knows(group: &Group, target: &str) -> bool {
    group.targets.iter().any(|known| known == target)
}

/// What a group knows an instance by.
fn target<'a>(group: &Group, found: &'a Found) -> Option<&'a str> {
    if group.by_ip { found.private_ip.as_deref() } else { Some(&found.id) }
}

/// Whether a machine's spec may name load balancers. Few do, and reading a spec takes time.
pub(super) fn may_be_balanced(machine: &MachineRef) -> bool {
    machine.spec.get().contains("loadBalancers")
}

/// The load balancers that a machine's spec names.
fn wanted(machine: &MachineRef) -> Vec<LoadBalancer> {
    if !may_be_balanced(machine) {
        return Vec::new();
    }
    ProviderConfig::read(&machine.spec).map(|config| config.load_balancers).unwrap_or_default()
}

fn asked(machine: &MachineRef, balancer: &LoadBalancer) -> Asked {
    let is_classic = balancer.kind() == Some(LoadBalancerKind::Classic);
    (machine.realm.clone(), is_classic, balancer.name.clone())
}

impl Ec2Machines {
    /// The load balancers that do not know a running instance, as far as that could be found out.
    pub(super) async fn unregistered(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        found: &Found,
        facts: &ClusterFacts,
    ) -> Vec<LoadBalancer> {
        let mut missing = Vec::new();
        if found.state() != InstanceState::Running {
            return missing;
        }
        for balancer in wanted(machine) {
            let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
            match self.members(&balancers, machine, &balancer).await {
                Ok(members) if !members.know(found) => missing.push(balancer),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, name = balancer.name, "the load balancer could not be asked");
                }
            }
        }
        missing
    }

    async fn members(
        &self,
        balancers: &Balancers<'_>,
        machine: &MachineRef,
        balancer: &LoadBalancer,
    ) -> Result<Arc<Members>, AwsError> {
        let key = asked(machine, balancer);
        let (is_classic, name) = (key.1, balancer.name.as_str());
        let ask = async {
            let members = if is_classic {
                balancers.instances(name).await.map(Members::Classic)
            } else {
                balancers.groups(name).await.map(Members::Network)
            };
            match members {
                Err(error) if is_missing(&error) => Ok(Arc::new(Members::Gone)),
                members => members.map(Arc::new),
            }
        };
        self.members.get(key, ask).await
    }

    /// Makes load balancers know an instance.
    pub(super) async fn register(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        found: &Found,
        missing: &[LoadBalancer],
        facts: &ClusterFacts,
    ) -> Result<(), AwsError> {
        let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
        for balancer in missing {
            let members = self.members(&balancers, machine, balancer).await?;
            self.members.forget(&asked(machine, balancer));
            match &*members {
                // AWS says best itself that there is none.
                Members::Gone if asked(machine, balancer).1 => {
                    drop(balancers.instances(&balancer.name).await?);
                }
                Members::Gone => drop(balancers.groups(&balancer.name).await?),
                Members::Classic(_) => balancers.add_instance(&balancer.name, &found.id).await?,
                Members::Network(groups) => {
                    for group in groups {
                        match target(group, found) {
                            Some(target) if !knows(group, target) => {
                                balancers.add_target(&group.arn, target).await?;
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes load balancers forget an instance that is about to go.
    pub(super) async fn deregister(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        found: &Found,
    ) -> Result<(), CloudError> {
        let wanted = wanted(machine);
        if wanted.is_empty() {
            return Ok(());
        }
        let facts = self.facts().await?;
        let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
        let judged = |error: AwsError| judge(&error, At::realm(&machine.realm));
        for balancer in wanted {
            // What was remembered may be older than the registration.
            self.members.forget(&asked(machine, &balancer));
            let members = self.members(&balancers, machine, &balancer).await.map_err(judged)?;
            let forgotten = match &*members {
                Members::Gone => Ok(()),
                Members::Classic(ids) if !ids.contains(&found.id) => Ok(()),
                Members::Classic(_) => balancers.remove_instance(&balancer.name, &found.id).await,
                Members::Network(groups) => forget(&balancers, groups, found).await,
            };
            // Nor does it know of this.
            self.members.forget(&asked(machine, &balancer));
            match forgotten {
                // OpenShift does not grant the classic one; it notices by itself that the instance is gone.
                Err(error)
                    if error.category() == Category::Unauthorised
                        && matches!(*members, Members::Classic(_)) =>
                {
                    tracing::warn!(%error, name = balancer.name, "the instance stays registered");
                }
                Err(error) if !is_missing(&error) => return Err(judged(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes target groups forget the address of an instance that was gone before we could do so: EC2 takes out instances by itself, and not
    /// addresses. One that another instance has by now is left.
    pub(super) async fn forget_address(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<(), CloudError> {
        let Some(address) = machine.status.0.get(PRIVATE_IP).and_then(Value::as_str) else {
            return Ok(());
        };
        let judged = |error: AwsError| judge(&error, At::realm(&machine.realm));
        for balancer in wanted(machine) {
            if balancer.kind() == Some(LoadBalancerKind::Classic) {
                continue;
            }
            let facts = self.facts().await?;
            let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
            let members = self.members(&balancers, machine, &balancer).await.map_err(judged)?;
            let Members::Network(groups) = &*members else { continue };
            let mut groups = groups.iter().filter(|group| group.by_ip && knows(group, address));
            let Some(first) = groups.next() else { continue };
            let held = ec2.instances(vec![filter("private-ip-address", [address])]).await;
            if held.map_err(judged)?.iter().any(Found::exists) {
                return Ok(());
            }
            self.members.forget(&asked(machine, &balancer));
            for group in std::iter::once(first).chain(groups) {
                remove(&balancers, group, address).await.map_err(judged)?;
            }
        }
        Ok(())
    }
}

async fn forget(
    balancers: &Balancers<'_>,
    groups: &[Group],
    found: &Found,
) -> Result<(), AwsError> {
    for group in groups {
        match target(group, found) {
            Some(target) if knows(group, target) => remove(balancers, group, target).await?,
            _ => {}
        }
    }
    Ok(())
}

async fn remove(balancers: &Balancers<'_>, group: &Group, target: &str) -> Result<(), AwsError> {
    match balancers.remove_target(&group.arn, target).await {
        // The group is gone, or does not know it any more.
        Err(error) if !is_missing(&error) && !is_unknown_target(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_unknown_target(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code == "InvalidTarget")
}
