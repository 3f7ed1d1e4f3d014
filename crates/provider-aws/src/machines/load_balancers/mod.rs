//! For a description, a refusal of a load balancer is drift, and a missing answer makes the instance uncertain. A load
//! balancer that does not exist is an error on registration and ignored on deregistration.

mod calls;
pub(crate) mod desired;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_aws_spec::config::LoadBalancer;
use machinist_domain::retry::{Category, Classified};
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, ErrorClass, Instance, InstanceState, MachineRef};
use machinist_provider::lookups::Lookups;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use self::calls::Balancers;
use self::calls::Group;
use self::desired::{PRIVATE_IP, possible, wanted};
use crate::errors::AwsError;
use crate::machines::calls::filter;
use crate::machines::cluster_settings::ClusterSettings;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::instance::is_of_cluster;
use crate::machines::errors::is_missing;
use crate::machines::{Ec2Machines, Executor};
use crate::messages;

const READ_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) const READ_ALL_TIMEOUT: Duration = Duration::from_secs(6);

/// With whether it is classic, and its name.
pub(crate) type LoadBalancerKey = (CloudAccess, bool, String);

pub(crate) type Targets = Result<Arc<[Group]>, AwsError>;

/// What one describe has read.
pub(crate) type Registrations = HashMap<LoadBalancerKey, Targets>;

/// A failed read of a describe is kept as the inner result, one of a change is the outer error and not kept.
pub(crate) type TargetLookups = Lookups<LoadBalancerKey, Result<Targets, AwsError>>;

impl Group {
    fn target<'a>(&self, found: &'a Ec2Instance) -> Option<&'a str> {
        if self.by_ip { found.private_ip.as_deref() } else { Some(&found.id) }
    }

    fn has(&self, target: &str) -> bool {
        self.targets.iter().any(|known| known == target)
    }

    /// Separate VPCs may use the same addresses; of peered VPCs, only the cluster's instances matter.
    fn may_target(&self, found: &Ec2Instance, machine: &MachineRef) -> bool {
        self.vpc.is_none() || self.vpc == found.vpc || is_of_cluster(found, machine)
    }
}

fn is_registered(groups: &[Group], found: &Ec2Instance) -> bool {
    !groups.is_empty() && targets(groups, found, false).is_empty()
}

/// The groups where the instance is registered, or is not, with its target there.
fn targets<'a>(
    groups: &'a [Group],
    found: &'a Ec2Instance,
    registered: bool,
) -> Vec<(&'a Group, &'a str)> {
    let targets = groups.iter().filter_map(|group| Some((group, group.target(found)?)));
    targets.filter(|(group, target)| group.has(target) == registered).collect()
}

fn key_of(machine: &MachineRef, balancer: &LoadBalancer) -> LoadBalancerKey {
    (machine.access.clone(), balancer.is_classic(), balancer.name.clone())
}

fn desired_for(machine: &MachineRef, found: &Ec2Instance) -> Vec<LoadBalancer> {
    if found.state() == InstanceState::Running { wanted(machine) } else { Vec::new() }
}

fn may_pass(error: &AwsError) -> bool {
    matches!(error.category(), Category::Throttled | Category::Unavailable) && !is_missing(error)
}

impl Ec2Machines {
    /// Adds the drift of the registrations. The instance is uncertain if a load balancer may respond soon.
    pub(crate) async fn compare(
        &self,
        balancers: Option<&Balancers<'_>>,
        machine: &MachineRef,
        found: &Ec2Instance,
        deadline: Instant,
        known: &mut Registrations,
        instance: &mut Instance,
    ) {
        let mut missing = Vec::new();
        let mut parts: Vec<_> = instance.drift.take().into_iter().collect();
        let place = parts.len();
        for balancer in desired_for(machine, found) {
            let targets = match balancers {
                Some(balancers) => {
                    let key = key_of(machine, &balancer);
                    let read = self.cached_targets(balancers, &key);
                    read_once(known, &key, deadline, read).await
                }
                None => Err(timed_out()),
            };
            match targets {
                Err(error) if may_pass(&error) => instance.uncertain = true,
                Err(error) if !is_missing(&error) => {
                    let text = messages::load_balancer_failed(&balancer.name, &error.to_string());
                    parts.push(text);
                }
                Ok(groups) if groups.is_empty() => {
                    parts.push(messages::no_target_group(&balancer.name));
                }
                Ok(groups) if is_registered(&groups, found) => {}
                Ok(_) | Err(_) => missing.push(balancer.name),
            }
        }
        if !missing.is_empty() {
            parts.insert(place, messages::not_registered(&missing));
        }
        instance.drift = (!parts.is_empty()).then(|| parts.join("; "));
    }

    /// Failures are cached as well.
    async fn cached_targets(&self, balancers: &Balancers<'_>, key: &LoadBalancerKey) -> Targets {
        let lookup = async {
            let answer = timeout(READ_TIMEOUT, balancers.groups(key)).await;
            let groups = answer.unwrap_or_else(|_| Err(timed_out()));
            Ok(groups.map(Into::into))
        };
        self.targets.get(key.clone(), lookup).await?
    }

    async fn targets(&self, balancers: &Balancers<'_>, key: &LoadBalancerKey) -> Targets {
        let read = || async { balancers.groups(key).await.map(Into::into) };
        targets_for_change(&self.targets, key, read).await
    }

    /// For deregistration: the cached state may be older than the registration.
    async fn current_targets(
        &self,
        balancers: &Balancers<'_>,
        key: &LoadBalancerKey,
    ) -> Result<Arc<[Group]>, CloudError> {
        self.targets.forget(key);
        match self.targets(balancers, key).await {
            Err(error) if is_missing(&error) => Ok(Arc::default()),
            targets => targets.map_err(|error| balancers.classify(key, &error)),
        }
    }

    async fn register_with(
        &self,
        balancers: &Balancers<'_>,
        key: &LoadBalancerKey,
        found: &Ec2Instance,
    ) -> Result<(), CloudError> {
        let classified = |error: AwsError| balancers.classify(key, &error);
        let groups = self.targets(balancers, key).await.map_err(classified)?;
        if is_registered(&groups, found) {
            return Ok(());
        }
        if groups.is_empty() {
            self.targets.forget(key);
            let message = messages::no_target_group(&key.2);
            return Err(CloudError::new(ErrorClass::NotFound, message));
        }
        let mut added = Ok(());
        for (group, target) in targets(&groups, found, false) {
            if added.is_ok() {
                added = balancers.add(group, target).await;
            }
        }
        // A concurrent reader may have cached the former state, and a failed call may have succeeded.
        self.targets.forget(key);
        added.map_err(classified)
    }
}

impl Executor<'_> {
    pub(crate) async fn register(
        &self,
        found: &Ec2Instance,
        settings: &ClusterSettings,
    ) -> Result<(), CloudError> {
        let Self { machines, ec2, machine } = self;
        let balancers = Balancers::of(ec2, settings);
        let mut result = Ok(());
        for balancer in desired_for(machine, found) {
            let key = key_of(machine, &balancer);
            result = result.and(machines.register_with(&balancers, &key, found).await);
        }
        result
    }

    pub(crate) async fn deregister(&self, found: &Ec2Instance) -> Result<(), CloudError> {
        let Self { machines, ec2, machine } = self;
        let possible = possible(machine)?;
        if possible.is_empty() {
            return Ok(());
        }
        let settings = machines.cluster_settings().await?;
        let balancers = Balancers::of(ec2, &settings);
        for balancer in possible {
            let key = key_of(machine, &balancer);
            let groups = machines.current_targets(&balancers, &key).await?;
            let mut removed = Ok(());
            for (group, target) in targets(&groups, found, true) {
                if removed.is_ok() {
                    removed = remove(&balancers, group, target).await;
                }
            }
            machines.targets.forget(&key);
            match removed {
                // OpenShift does not grant it. Classic load balancers remove terminated instances by themselves.
                Err(error)
                    if error.category() == Category::Unauthorised && balancer.is_classic() =>
                {
                    tracing::warn!(%error, name = balancer.name, "cannot deregister the instance");
                }
                removed => removed.map_err(|error| balancers.classify(&key, &error))?,
            }
        }
        Ok(())
    }

    /// For an instance that terminated by itself: target groups remove instances automatically, but not addresses. An
    /// address that another instance uses now stays.
    pub(crate) async fn remove_address(&self) -> Result<(), CloudError> {
        let Self { machines, ec2, machine } = self;
        let Some(address) = machine.status.0.get(PRIVATE_IP).and_then(Value::as_str) else {
            return Ok(());
        };
        let mut possible = possible(machine)?;
        possible.retain(|balancer| !balancer.is_classic());
        if possible.is_empty() {
            return Ok(());
        }
        let settings = machines.cluster_settings().await?;
        let balancers = Balancers::of(ec2, &settings);
        for balancer in possible {
            let key = key_of(machine, &balancer);
            let classified = |error: AwsError| balancers.classify(&key, &error);
            let groups = machines.current_targets(&balancers, &key).await?;
            for group in groups.iter().filter(|group| group.by_ip && group.has(address)) {
                let holders = ec2.instances(vec![filter("private-ip-address", [address])]).await;
                let holders = holders.map_err(classified)?;
                if !holders.iter().any(|found| found.exists() && group.may_target(found, machine)) {
                    remove(&balancers, group, address).await.map_err(classified)?;
                }
            }
            machines.targets.forget(&key);
        }
        Ok(())
    }
}

/// For all machines of a describe: one that waited in vain does not wait again.
async fn read_once(
    known: &mut Registrations,
    key: &LoadBalancerKey,
    deadline: Instant,
    read: impl Future<Output = Targets>,
) -> Targets {
    if let Some(targets) = known.get(key) {
        return targets.clone();
    }
    let targets = timeout_at(deadline, read).await.unwrap_or_else(|_| Err(timed_out()));
    if let Err(error) = &targets
        && !is_missing(error)
    {
        tracing::warn!(%error, name = key.2, "cannot read the load balancer");
    }
    known.insert(key.clone(), targets.clone());
    targets
}

/// A failure or absence that a describe has cached does not count.
async fn targets_for_change<R: Future<Output = Targets>>(
    lookups: &TargetLookups,
    key: &LoadBalancerKey,
    read: impl Fn() -> R,
) -> Targets {
    let lookup = || async { read().await.map(Ok) };
    let targets = lookups.get(key.clone(), lookup()).await?;
    if targets.is_ok() {
        return targets;
    }
    lookups.forget(key);
    lookups.get(key.clone(), lookup()).await?
}

fn timed_out() -> AwsError {
    AwsError::NoResponse {
        operation: "DescribeLoadBalancers",
        reason: messages::TIMED_OUT.to_owned(),
    }
}

async fn remove(balancers: &Balancers<'_>, group: &Group, target: &str) -> Result<(), AwsError> {
    match balancers.remove(group, target).await {
        // The group or the target is gone.
        Err(error) if is_missing(&error) || error.has_code("InvalidTarget") => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
