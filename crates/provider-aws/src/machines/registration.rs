//! Load balancers that are to know an instance: whether they do, and making them know or forget it.
//!
//! What a load balancer knows is asked once for all machines and remembered for a short time, also that it could not be asked. That hides no
//! instance, whose sighting waits for all load balancers together no longer than [`QUESTIONS`]: a refusal is told as something to repair, and of
//! what did not answer the next look, which is not far, may tell more. One that is gone is told where an instance is to be registered, and does not matter where one
//! goes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_aws_spec::config::{LoadBalancer, LoadBalancerKind};
use machinist_domain::retry::{Category, Classified};
use machinist_provider::capacity::Realm;
use machinist_provider::cloud::{CloudError, ErrorClass, InstanceState, MachineRef};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::Ec2Machines;
use super::balanced::{PRIVATE_IP, suspected, wanted};
use super::balancers::{Balancers, Group};
use super::calls::filter;
use super::errors::{At, is_missing, judge};
use super::found::Found;
use super::sight::is_of_cluster;
use super::surroundings::ClusterFacts;
use crate::ec2::Ec2;
use crate::errors::AwsError;

/// How long one load balancer may take to say what it knows.
const QUESTION: Duration = Duration::from_secs(3);

/// How long all load balancers of the machines that are looked at together may take.
pub(super) const QUESTIONS: Duration = Duration::from_secs(6);

/// A load balancer in a realm: whether it is a classic one, and its name.
pub(super) type Asked = (Realm, bool, String);

/// What a load balancer knows.
#[derive(Debug)]
pub(super) enum Members {
    /// There is no such load balancer, as AWS says.
    Gone(AwsError),
    Classic(Vec<String>),
    Network(Vec<Group>),
    /// It could not be asked.
    Unknown(AwsError),
}

impl Members {
    /// Whether everything that belongs to it knows the instance.
    fn know(&self, found: &Found) -> bool {
        match self {
            Self::Gone(_) | Self::Unknown(_) => false,
            Self::Classic(ids) => ids.contains(&found.id),
            Self::Network(groups) => {
                let knows = |group| target(group, found).is_none_or(|at| knows(group, at));
                !groups.is_empty() && groups.iter().all(knows)
            }
        }
    }
}

/// What is wrong with a network load balancer that has no groups.
const TAKES_NOBODY: &str = "has no target group that takes instances or addresses";

fn knows(group: &Group, target: &str) -> bool {
    group.targets.iter().any(|known| known == target)
}

/// What a group knows an instance by.
fn target<'a>(group: &Group, found: &'a Found) -> Option<&'a str> {
    if group.by_ip { found.private_ip.as_deref() } else { Some(&found.id) }
}

fn asked(machine: &MachineRef, balancer: &LoadBalancer) -> Asked {
    let is_classic = balancer.kind() == Some(LoadBalancerKind::Classic);
    (machine.realm.clone(), is_classic, balancer.name.clone())
}

/// What is wrong, and with which load balancer: AWS does not say.
fn judged((realm, _, name): &Asked, error: &AwsError) -> CloudError {
    let error = judge(error, At::realm(realm));
    let message = format!("load balancer {name}: {}", error.message);
    CloudError { message, ..error }
}

/// What load balancers know, of those that answered.
pub(super) type Known = HashMap<Asked, Arc<Members>>;

/// Whether a load balancer that an instance needs could not be asked, and may answer soon.
pub(super) fn is_uncertain(machine: &MachineRef, found: &Found, known: &Known) -> bool {
    needed(machine, found).iter().any(|balancer| {
        let members = known.get(&asked(machine, balancer)).map(|members| &**members);
        members
            .is_none_or(|members| matches!(members, Members::Unknown(error) if !is_definite(error)))
    })
}

/// What is to be repaired of an instance for its load balancers.
pub(super) fn drift(machine: &MachineRef, found: &Found, known: &Known) -> Option<String> {
    let (mut missing, mut parts) = (Vec::new(), Vec::new());
    for balancer in needed(machine, found) {
        match known.get(&asked(machine, &balancer)).map(|members| &**members) {
            Some(Members::Unknown(error)) if is_definite(error) => {
                parts.push(format!("load balancer {} could not be asked: {error}", balancer.name));
            }
            None | Some(Members::Unknown(_)) => {}
            Some(Members::Network(groups)) if groups.is_empty() => {
                parts.push(format!("load balancer {} {TAKES_NOBODY}", balancer.name));
            }
            Some(members) if members.know(found) => {}
            Some(_) => missing.push(balancer.name),
        }
    }
    if !missing.is_empty() {
        parts.insert(0, format!("not registered with load balancers: {}", missing.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The load balancers that are to know an instance: it runs.
fn needed(machine: &MachineRef, found: &Found) -> Vec<LoadBalancer> {
    if found.state() == InstanceState::Running { wanted(machine) } else { Vec::new() }
}

/// Whether asking again will not help before somebody does something.
fn is_definite(error: &AwsError) -> bool {
    !matches!(error.category(), Category::Throttled | Category::Unavailable)
}

async fn ask(
    balancers: &Balancers<'_>,
    (_, is_classic, name): &Asked,
) -> Result<Arc<Members>, AwsError> {
    let members = if *is_classic {
        balancers.instances(name).await.map(Members::Classic)
    } else {
        balancers.groups(name).await.map(Members::Network)
    };
    match members {
        Err(error) if is_missing(&error) => Ok(Arc::new(Members::Gone(error))),
        members => members.map(Arc::new),
    }
}

impl Ec2Machines {
    /// What the load balancers of some machines know. Each is asked once, and none for long.
    pub(super) async fn known(
        &self,
        ec2: &Ec2,
        machines: &[(&MachineRef, &Found)],
        facts: &ClusterFacts,
        deadline: Instant,
    ) -> Known {
        let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
        let mut known = Known::new();
        for (machine, found) in machines {
            for balancer in needed(machine, found) {
                let key = asked(machine, &balancer);
                if known.contains_key(&key) {
                    continue;
                }
                let answer = timeout_at(deadline, self.asked_once(&balancers, &key)).await;
                let members = answer.unwrap_or_else(|_| silent());
                if let Members::Unknown(error) = &*members {
                    tracing::warn!(%error, name = balancer.name, "the load balancer could not be asked");
                }
                known.insert(key, members);
            }
        }
        known
    }

    /// What a load balancer knows, or that it could not be asked; that is remembered, too.
    async fn asked_once(&self, balancers: &Balancers<'_>, key: &Asked) -> Arc<Members> {
        let asking = async {
            let answer = timeout(QUESTION, ask(balancers, key)).await;
            let members = answer.unwrap_or_else(|_| Ok(silent()));
            Ok(members.unwrap_or_else(|error| Arc::new(Members::Unknown(error))))
        };
        let members = self.members.get(key.clone(), asking).await;
        members.unwrap_or_else(|error| Arc::new(Members::Unknown(error)))
    }

    /// What a load balancer knows, for a change: that it could not be asked a moment ago, or was not there, is no answer.
    async fn members(
        &self,
        balancers: &Balancers<'_>,
        key: &Asked,
    ) -> Result<Arc<Members>, AwsError> {
        let mut asked = false;
        let asking = async {
            asked = true;
            ask(balancers, key).await
        };
        let members = self.members.get(key.clone(), asking).await?;
        if asked || !matches!(*members, Members::Unknown(_) | Members::Gone(_)) {
            return Ok(members);
        }
        self.members.forget(key);
        self.members.get(key.clone(), ask(balancers, key)).await
    }

    /// Makes load balancers know an instance. All are tried; the first error is told.
    pub(super) async fn register(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        found: &Found,
        facts: &ClusterFacts,
    ) -> Result<(), CloudError> {
        let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
        let mut result = Ok(());
        for balancer in needed(machine, found) {
            let key = asked(machine, &balancer);
            result = result.and(self.register_with(&balancers, &key, found).await);
        }
        result
    }

    async fn register_with(
        &self,
        balancers: &Balancers<'_>,
        key: &Asked,
        found: &Found,
    ) -> Result<(), CloudError> {
        let name = &key.2;
        let judged = |error: AwsError| judged(key, &error);
        let members = self.members(balancers, key).await.map_err(judged)?;
        if members.know(found) {
            return Ok(());
        }
        if matches!(&*members, Members::Network(groups) if groups.is_empty()) {
            self.members.forget(key);
            let message = format!("load balancer {name} {TAKES_NOBODY}");
            return Err(CloudError::new(ErrorClass::NotFound, message));
        }
        let added = add(balancers, key, &members, found).await;
        // Only now: who asked while it was being told was told of the time before. It may know also where the answer was lost.
        self.members.forget(key);
        added.map_err(judged)
    }

    /// Makes load balancers forget an instance that is about to go.
    pub(super) async fn deregister(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        found: &Found,
    ) -> Result<(), CloudError> {
        let suspected = suspected(machine)?;
        if suspected.is_empty() {
            return Ok(());
        }
        let facts = self.facts().await?;
        let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
        for balancer in suspected {
            // What was remembered may be older than the registration.
            let key = asked(machine, &balancer);
            let judged = |error: AwsError| judged(&key, &error);
            self.members.forget(&key);
            let members = self.members(&balancers, &key).await.map_err(judged)?;
            let forgotten = match &*members {
                Members::Gone(_) => Ok(()),
                Members::Unknown(error) => Err(error.clone()),
                Members::Classic(ids) if !ids.contains(&found.id) => Ok(()),
                Members::Classic(_) => balancers.remove_instance(&balancer.name, &found.id).await,
                Members::Network(groups) => forget(&balancers, groups, found).await,
            };
            // Nor does it know of this.
            self.members.forget(&key);
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
    /// addresses. One that another instance which the group can mean has by now is left.
    pub(super) async fn forget_address(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<(), CloudError> {
        let Some(address) = machine.status.0.get(PRIVATE_IP).and_then(Value::as_str) else {
            return Ok(());
        };
        for balancer in suspected(machine)? {
            if balancer.kind() == Some(LoadBalancerKind::Classic) {
                continue;
            }
            let facts = self.facts().await?;
            let balancers = Balancers::of(ec2, facts.load_balancing_endpoint.as_deref());
            // What was remembered may be older than the registration.
            let key = asked(machine, &balancer);
            let judged = |error: AwsError| judged(&key, &error);
            self.members.forget(&key);
            let members = self.members(&balancers, &key).await.map_err(judged)?;
            let groups = match &*members {
                Members::Network(groups) => groups,
                Members::Unknown(error) => return Err(judged(error.clone())),
                Members::Gone(_) | Members::Classic(_) => continue,
            };
            for group in groups.iter().filter(|group| group.by_ip && knows(group, address)) {
                let holders = ec2.instances(vec![filter("private-ip-address", [address])]).await;
                let holders = holders.map_err(judged)?;
                if !holders.iter().any(|found| found.exists() && means(group, found, machine)) {
                    remove(&balancers, group, address).await.map_err(judged)?;
                }
            }
            self.members.forget(&key);
        }
        Ok(())
    }
}

/// Whether a group that knows the address of an instance means this one: networks that are apart may use the same addresses. A group also reaches
/// networks that are joined to its own, where nobody else's machines matter.
fn means(group: &Group, found: &Found, machine: &MachineRef) -> bool {
    group.vpc.is_none() || group.vpc == found.vpc || is_of_cluster(found, machine)
}

/// What is known of a load balancer that has not answered yet.
fn silent() -> Arc<Members> {
    Arc::new(Members::Unknown(AwsError::Unanswered {
        operation: "DescribeLoadBalancers",
        reason: "it takes too long".to_owned(),
    }))
}

/// Tells a load balancer of an instance, as far as it does not know it.
async fn add(
    balancers: &Balancers<'_>,
    (_, _, name): &Asked,
    members: &Members,
    found: &Found,
) -> Result<(), AwsError> {
    match members {
        Members::Unknown(error) | Members::Gone(error) => Err(error.clone()),
        Members::Classic(_) => balancers.add_instance(name, &found.id).await,
        Members::Network(groups) => {
            for group in groups {
                match target(group, found) {
                    Some(target) if !knows(group, target) => {
                        balancers.add_target(&group.arn, target).await?;
                    }
                    _ => {}
                }
            }
            Ok(())
        }
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
