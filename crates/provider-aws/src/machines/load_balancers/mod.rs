//! Registers instances with load balancers, and deregisters them.
//!
//! The targets of a load balancer are read once for all Machines and cached for a short time, failures included.
//! Describing an instance waits for all load balancers together at most [`READ_ALL_TIMEOUT`]: a refusal is reported as
//! drift, a missing answer makes the instance uncertain. A load balancer that does not exist is an error on
//! registration and ignored on deregistration.

mod calls;
pub(crate) mod desired;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_aws_spec::config::{LoadBalancer, LoadBalancerKind};
use machinist_domain::retry::{Category, Classified};
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, ErrorClass, InstanceState, MachineRef};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use self::calls::{Balancers, Group};
use self::desired::{PRIVATE_IP, possible, wanted};
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::Ec2Machines;
use crate::machines::calls::filter;
use crate::machines::cluster_settings::ClusterSettings;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::instance::is_of_cluster;
use crate::machines::errors::{ErrorContext, classify, is_missing};
use crate::messages;

/// The timeout for one load balancer.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The timeout for all load balancers of one describe call.
pub(crate) const READ_ALL_TIMEOUT: Duration = Duration::from_secs(6);

/// Access, whether it is a classic load balancer, and its name.
pub(crate) type LoadBalancerKey = (CloudAccess, bool, String);

/// The targets of a load balancer.
#[derive(Debug)]
pub(crate) enum Targets {
    /// It does not exist.
    Gone(AwsError),
    Classic(Vec<String>),
    Network(Vec<Group>),
    /// It could not be read.
    Unknown(AwsError),
}

impl Targets {
    /// Whether the instance is registered everywhere.
    fn contain(&self, found: &Ec2Instance) -> bool {
        match self {
            Self::Gone(_) | Self::Unknown(_) => false,
            Self::Classic(ids) => ids.contains(&found.id),
            Self::Network(groups) => {
                let has_target =
                    |group| target(group, found).is_none_or(|at| has_target(group, at));
                !groups.is_empty() && groups.iter().all(has_target)
            }
        }
    }
}

fn has_target(group: &Group, target: &str) -> bool {
    group.targets.iter().any(|known| known == target)
}

/// The instance's id or address.
fn target<'a>(group: &Group, found: &'a Ec2Instance) -> Option<&'a str> {
    if group.by_ip { found.private_ip.as_deref() } else { Some(&found.id) }
}

fn key_of(machine: &MachineRef, balancer: &LoadBalancer) -> LoadBalancerKey {
    let is_classic = balancer.kind() == Some(LoadBalancerKind::Classic);
    (machine.access.clone(), is_classic, balancer.name.clone())
}

/// AWS does not name the load balancer.
fn classified((access, _, name): &LoadBalancerKey, error: &AwsError) -> CloudError {
    let error = classify(error, ErrorContext::of(access));
    let message = messages::load_balancer_failed(name, &error.message);
    CloudError { message, ..error }
}

pub(crate) type Registrations = HashMap<LoadBalancerKey, Arc<Targets>>;

/// Whether a load balancer could not be read and may respond soon.
pub(crate) fn is_uncertain(
    machine: &MachineRef,
    found: &Ec2Instance,
    known: &Registrations,
) -> bool {
    desired_for(machine, found).iter().any(|balancer| {
        let targets = known.get(&key_of(machine, balancer)).map(|targets| &**targets);
        targets.is_none_or(
            |targets| matches!(targets, Targets::Unknown(error) if !needs_action(error)),
        )
    })
}

pub(crate) fn drift(
    machine: &MachineRef,
    found: &Ec2Instance,
    known: &Registrations,
) -> Option<String> {
    let (mut missing, mut parts) = (Vec::new(), Vec::new());
    for balancer in desired_for(machine, found) {
        match known.get(&key_of(machine, &balancer)).map(|targets| &**targets) {
            Some(Targets::Unknown(error)) if needs_action(error) => {
                let text = messages::load_balancer_failed(&balancer.name, &error.to_string());
                parts.push(text);
            }
            None | Some(Targets::Unknown(_)) => {}
            Some(Targets::Network(groups)) if groups.is_empty() => {
                parts.push(messages::no_target_group(&balancer.name));
            }
            Some(targets) if targets.contain(found) => {}
            Some(_) => missing.push(balancer.name),
        }
    }
    if !missing.is_empty() {
        parts.insert(0, messages::not_registered(&missing));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Only running instances are registered.
fn desired_for(machine: &MachineRef, found: &Ec2Instance) -> Vec<LoadBalancer> {
    if found.state() == InstanceState::Running { wanted(machine) } else { Vec::new() }
}

/// Whether a retry does not help.
fn needs_action(error: &AwsError) -> bool {
    !matches!(error.category(), Category::Throttled | Category::Unavailable)
}

async fn read_targets(
    balancers: &Balancers<'_>,
    (_, is_classic, name): &LoadBalancerKey,
) -> Result<Arc<Targets>, AwsError> {
    let targets = if *is_classic {
        balancers.instances(name).await.map(Targets::Classic)
    } else {
        balancers.groups(name).await.map(Targets::Network)
    };
    match targets {
        Err(error) if is_missing(&error) => Ok(Arc::new(Targets::Gone(error))),
        targets => targets.map(Arc::new),
    }
}

impl Ec2Machines {
    /// Reads each load balancer once, within the timeouts.
    pub(crate) async fn registrations(
        &self,
        ec2: &Ec2,
        machines: &[(&MachineRef, &Ec2Instance)],
        settings: &ClusterSettings,
        deadline: Instant,
    ) -> Registrations {
        let balancers = Balancers::of(ec2, settings.load_balancing_endpoint.as_deref());
        let mut known = Registrations::new();
        for (machine, found) in machines {
            for balancer in desired_for(machine, found) {
                let key = key_of(machine, &balancer);
                if known.contains_key(&key) {
                    continue;
                }
                let answer = timeout_at(deadline, self.cached_targets(&balancers, &key)).await;
                let targets = answer.unwrap_or_else(|_| timed_out());
                if let Targets::Unknown(error) = &*targets {
                    tracing::warn!(%error, name = balancer.name, "cannot read the load balancer");
                }
                known.insert(key, targets);
            }
        }
        known
    }

    /// Failures are cached as well.
    async fn cached_targets(
        &self,
        balancers: &Balancers<'_>,
        key: &LoadBalancerKey,
    ) -> Arc<Targets> {
        let asking = async {
            let answer = timeout(READ_TIMEOUT, read_targets(balancers, key)).await;
            let targets = answer.unwrap_or_else(|_| Ok(timed_out()));
            Ok(targets.unwrap_or_else(|error| Arc::new(Targets::Unknown(error))))
        };
        let targets = self.targets.get(key.clone(), asking).await;
        targets.unwrap_or_else(|error| Arc::new(Targets::Unknown(error)))
    }

    /// For changes: a cached failure or absence does not count.
    async fn targets(
        &self,
        balancers: &Balancers<'_>,
        key: &LoadBalancerKey,
    ) -> Result<Arc<Targets>, AwsError> {
        let mut asked = false;
        let asking = async {
            asked = true;
            read_targets(balancers, key).await
        };
        let targets = self.targets.get(key.clone(), asking).await?;
        if asked || !matches!(*targets, Targets::Unknown(_) | Targets::Gone(_)) {
            return Ok(targets);
        }
        self.targets.forget(key);
        self.targets.get(key.clone(), read_targets(balancers, key)).await
    }

    /// Tries all load balancers and returns the first error.
    pub(crate) async fn register(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        found: &Ec2Instance,
        settings: &ClusterSettings,
    ) -> Result<(), CloudError> {
        let balancers = Balancers::of(ec2, settings.load_balancing_endpoint.as_deref());
        let mut result = Ok(());
        for balancer in desired_for(machine, found) {
            let key = key_of(machine, &balancer);
            result = result.and(self.register_with(&balancers, &key, found).await);
        }
        result
    }

    async fn register_with(
        &self,
        balancers: &Balancers<'_>,
        key: &LoadBalancerKey,
        found: &Ec2Instance,
    ) -> Result<(), CloudError> {
        let name = &key.2;
        let classified = |error: AwsError| classified(key, &error);
        let targets = self.targets(balancers, key).await.map_err(classified)?;
        if targets.contain(found) {
            return Ok(());
        }
        if matches!(&*targets, Targets::Network(groups) if groups.is_empty()) {
            self.targets.forget(key);
            let message = messages::no_target_group(name);
            return Err(CloudError::new(ErrorClass::NotFound, message));
        }
        let added = add(balancers, key, &targets, found).await;
        // After the call: a concurrent reader may have cached the former state. The call may have succeeded without a
        // response.
        self.targets.forget(key);
        added.map_err(classified)
    }

    pub(crate) async fn deregister(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        found: &Ec2Instance,
    ) -> Result<(), CloudError> {
        let possible = possible(machine)?;
        if possible.is_empty() {
            return Ok(());
        }
        let settings = self.cluster_settings().await?;
        let balancers = Balancers::of(ec2, settings.load_balancing_endpoint.as_deref());
        for balancer in possible {
            // The cached state may be older than the registration.
            let key = key_of(machine, &balancer);
            let classified = |error: AwsError| classified(&key, &error);
            self.targets.forget(&key);
            let targets = self.targets(&balancers, &key).await.map_err(classified)?;
            let forgotten = match &*targets {
                Targets::Gone(_) => Ok(()),
                Targets::Unknown(error) => Err(error.clone()),
                Targets::Classic(ids) if !ids.contains(&found.id) => Ok(()),
                Targets::Classic(_) => balancers.remove_instance(&balancer.name, &found.id).await,
                Targets::Network(groups) => remove_targets(&balancers, groups, found).await,
            };
            self.targets.forget(&key);
            match forgotten {
                // OpenShift does not grant it for classic load balancers, which remove terminated instances by
                // themselves.
                Err(error)
                    if error.category() == Category::Unauthorised
                        && matches!(*targets, Targets::Classic(_)) =>
                {
                    tracing::warn!(%error, name = balancer.name, "cannot deregister the instance");
                }
                Err(error) if !is_missing(&error) => return Err(classified(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Deregisters the address of an instance that terminated by itself: target groups remove instances automatically,
    /// but not addresses. An address that another instance uses now stays.
    pub(crate) async fn deregister_address(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<(), CloudError> {
        let Some(address) = machine.status.0.get(PRIVATE_IP).and_then(Value::as_str) else {
            return Ok(());
        };
        for balancer in possible(machine)? {
            if balancer.kind() == Some(LoadBalancerKind::Classic) {
                continue;
            }
            let settings = self.cluster_settings().await?;
            let balancers = Balancers::of(ec2, settings.load_balancing_endpoint.as_deref());
            // The cached state may be older than the registration.
            let key = key_of(machine, &balancer);
            let classified = |error: AwsError| classified(&key, &error);
            self.targets.forget(&key);
            let targets = self.targets(&balancers, &key).await.map_err(classified)?;
            let groups = match &*targets {
                Targets::Network(groups) => groups,
                Targets::Unknown(error) => return Err(classified(error.clone())),
                Targets::Gone(_) | Targets::Classic(_) => continue,
            };
            for group in groups.iter().filter(|group| group.by_ip && has_target(group, address)) {
                let holders = ec2.instances(vec![filter("private-ip-address", [address])]).await;
                let holders = holders.map_err(classified)?;
                if !holders.iter().any(|found| found.exists() && may_target(group, found, machine))
                {
                    remove(&balancers, group, address).await.map_err(classified)?;
                }
            }
            self.targets.forget(&key);
        }
        Ok(())
    }
}

/// Whether the group may target this instance: separate VPCs may use the same addresses, and a group also reaches
/// peered VPCs, where only the cluster's instances matter.
fn may_target(group: &Group, found: &Ec2Instance, machine: &MachineRef) -> bool {
    group.vpc.is_none() || group.vpc == found.vpc || is_of_cluster(found, machine)
}

fn timed_out() -> Arc<Targets> {
    Arc::new(Targets::Unknown(AwsError::NoResponse {
        operation: "DescribeLoadBalancers",
        reason: messages::TIMED_OUT.to_owned(),
    }))
}

async fn add(
    balancers: &Balancers<'_>,
    (_, _, name): &LoadBalancerKey,
    targets: &Targets,
    found: &Ec2Instance,
) -> Result<(), AwsError> {
    match targets {
        Targets::Unknown(error) | Targets::Gone(error) => Err(error.clone()),
        Targets::Classic(_) => balancers.add_instance(name, &found.id).await,
        Targets::Network(groups) => {
            for group in groups {
                match target(group, found) {
                    Some(target) if !has_target(group, target) => {
                        balancers.add_target(&group.arn, target).await?;
                    }
                    _ => {}
                }
            }
            Ok(())
        }
    }
}

async fn remove_targets(
    balancers: &Balancers<'_>,
    groups: &[Group],
    found: &Ec2Instance,
) -> Result<(), AwsError> {
    for group in groups {
        match target(group, found) {
            Some(target) if has_target(group, target) => remove(balancers, group, target).await?,
            _ => {}
        }
    }
    Ok(())
}

async fn remove(balancers: &Balancers<'_>, group: &Group, target: &str) -> Result<(), AwsError> {
    match balancers.remove_target(&group.arn, target).await {
        // The group or the target is gone.
        Err(error) if !is_missing(&error) && !is_unknown_target(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_unknown_target(error: &AwsError) -> bool {
    matches!(error, AwsError::Refused { code, .. } if code == "InvalidTarget")
}
