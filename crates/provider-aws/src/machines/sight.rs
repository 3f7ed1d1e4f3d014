//! From EC2's words to those of the contract. Pure.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_aws_spec::config::ProviderConfig;
use machinist_provider::cloud::ownership::TAG_MACHINE_UID;
use machinist_provider::cloud::{
    Address, AddressKind, Instance, InstanceState, MachineRef, ProviderStatus,
};
use serde_json::{Value, json};

use super::balanced::{LOAD_BALANCERS, PRIVATE_IP, remembered};
use super::found::Found;
use super::home::ACCOUNT;
use super::launch::{HOST, Launch, known_id, token};
use super::surroundings::ClusterFacts;
use super::tags;

/// What a machine's instance looks like, with everything that is known around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    /// The machine that it was asked for, if that is known.
    pub(super) machine: Option<&'a MachineRef>,
    pub(super) region: &'a str,
    /// The names that its network gives.
    pub(super) domains: &'a [String],
    /// What holds for all machines of the cluster; `None` where that could not be found out, so that no tag is missed for it.
    pub(super) facts: Option<&'a ClusterFacts>,
}

/// An instance, as the contract has it.
pub(super) fn instance(found: &Found, around: Around<'_>) -> Instance {
    let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Arc::from);
    Instance {
        id: found.id.as_str().into(),
        provider_id: found.provider_id().into(),
        state: found.state(),
        state_text: found.state.as_str().into(),
        state_reason: found.reason.as_deref().map(Arc::from),
        addresses: addresses(found, around.domains),
        region: text(around.region),
        zone: text(&found.zone),
        instance_type: text(&found.instance_type),
        interruptible: found.is_spot,
        uncertain: false,
        drift: around.machine.and_then(|machine| drift(found, machine, around.facts)),
        status: status(found, around.machine),
    }
}

fn status(found: &Found, machine: Option<&MachineRef>) -> ProviderStatus {
    let mut status = machine.map(|machine| machine.status.clone()).unwrap_or_default();
    let mut set = |name: &str, value: Value| status.0.insert(name.to_owned(), value);
    set("instanceId", json!(found.id));
    set("instanceState", json!(found.state));
    let balancers = machine.filter(|_| found.exists()).and_then(remembered);
    if let Some(balancers) = balancers {
        set(LOAD_BALANCERS, balancers);
        if let Some(address) = &found.private_ip {
            set(PRIVATE_IP, json!(address));
        }
    }
    if let Some(account) = &found.account {
        set(ACCOUNT, json!(account));
    }
    let launch = machine.and_then(|machine| Launch::stored(&machine.status));
    let has_own_host = launch.as_ref().is_some_and(|launch| launch.placement.own_host.is_some());
    if let Some(host) = found.host.as_ref().filter(|_| has_own_host) {
        set(HOST, json!({ "id": host }));
    }
    if launch.is_some_and(|launch| launch.token == found.token) {
        Launch::forget_former_hosts(&mut status);
    }
    let conditions = status.0.entry("conditions").or_insert_with(|| json!([]));
    if let (Value::Array(conditions), Some(since)) = (conditions, found.launched) {
        say_created(conditions, since);
    }
    status
}

/// Says that the instance was made. That it was stays as it is said, also by another controller; that it once was not is over.
fn say_created(conditions: &mut Vec<Value>, since: Timestamp) {
    let created = json!({
        "type": "MachineCreation",
        "status": "True",
        "reason": "MachineCreationSucceeded",
        "message": "Machine successfully created",
        "lastTransitionTime": since,
    });
    match conditions.iter_mut().find(|said| said["type"] == created["type"]) {
        Some(said) if said["status"] == created["status"] => {}
        Some(said) => *said = created,
        None => conditions.push(created),
    }
}

/// In the order that users of OpenShift know.
fn addresses(found: &Found, domains: &[String]) -> Vec<Address> {
    let mut addresses = Vec::new();
    let mut add = |kind, address: &str| addresses.push(Address { kind, address: address.into() });
    for address in &found.internal {
        add(AddressKind::InternalIp, address);
    }
    if let Some(address) = &found.public_ip {
        add(AddressKind::ExternalIp, address);
    }
    if let Some(name) = &found.private_dns {
        add(AddressKind::InternalDns, name);
        add(AddressKind::Hostname, name);
        let host = name.split('.').next().unwrap_or_default();
        for domain in domains {
            let other =
                if domain.is_empty() { host.to_owned() } else { format!("{host}.{domain}") };
            if other != *name {
                add(AddressKind::InternalDns, &other);
            }
        }
    }
    if let Some(name) = &found.public_dns {
        add(AddressKind::ExternalDns, name);
    }
    addresses
}

/// The tags that an instance lacks.
pub(super) fn missing_tags(
    found: &Found,
    machine: &MachineRef,
    facts: Option<&ClusterFacts>,
) -> std::collections::BTreeMap<String, String> {
    let none = ClusterFacts::default();
    // A spec that cannot be read any more says nothing about tags.
    let spec = ProviderConfig::read(&machine.spec).map(|config| config.tags).unwrap_or_default();
    let mut wanted = tags::wanted(machine, &spec, facts.unwrap_or(&none));
    // With two of them AWS's Kubernetes parts do not know what to do. Another controller may have gone by another name of the cluster.
    let is_owned = found.tags.iter().any(|(name, value)| tags::says_owned(name, value));
    wanted.retain(|name, value| {
        found.tag(name) != Some(value) && !(is_owned && tags::says_owned(name, value))
    });
    wanted
}

fn drift(found: &Found, machine: &MachineRef, facts: Option<&ClusterFacts>) -> Option<String> {
    if matches!(found.state(), InstanceState::Terminating | InstanceState::Terminated) {
        return None;
    }
    let missing = missing_tags(found, machine, facts);
    let names: Vec<_> = missing.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("tags differ: {}", names.join(", ")))
}

/// Adds to what is to be repaired.
pub(super) fn add_drift(instance: &mut Instance, more: &str) {
    let before = instance.drift.take().map(|drift| format!("{drift}; "));
    instance.drift = Some(before.unwrap_or_default() + more);
}

/// Whether an instance that was found belongs to a machine.
///
/// One that says whose it is belongs to nobody else. One that says nothing lost its tags, which its token shows, or was made by another
/// controller: it belongs to the machine that knows its id, if it is the cluster's or has the machine's name.
pub(super) fn is_own(found: &Found, machine: &MachineRef) -> bool {
    match found.tag(TAG_MACHINE_UID) {
        Some(uid) => uid == &*machine.uid.0,
        None if was_asked_for_by(found, machine) => true,
        None if known_id(machine) == Some(&found.id) => {
            is_of_cluster(found, machine) || has_name(found, machine)
        }
        None => may_be_taken_over(found, machine),
    }
}

/// Whether it was launched with a token of this machine, of whichever attempt. Nobody can take that away.
fn was_asked_for_by(found: &Found, machine: &MachineRef) -> bool {
    let rest = found.token.strip_prefix(&*machine.uid.0);
    let attempt = rest.and_then(|rest| rest.strip_prefix('-'));
    attempt.is_some_and(|attempt| attempt.parse::<u32>().is_ok())
}

/// Whether another controller made it for this machine, and could not store that.
fn may_be_taken_over(found: &Found, machine: &MachineRef) -> bool {
    let untouched = known_id(machine).is_none() && machine.status.attempt().is_none();
    let younger = found.launched.is_some_and(|at| at.as_second() >= machine.created.as_second());
    untouched && younger && is_of_cluster(found, machine) && has_name(found, machine)
}

/// Whether it is the cluster's own, by whatever name the cluster goes.
pub(super) fn is_of_cluster(found: &Found, machine: &MachineRef) -> bool {
    machine.clusters().any(|cluster| found.tag(&tags::cluster_tag(cluster)) == Some("owned"))
}

/// Whether it is called like the machine.
pub(super) fn has_name(found: &Found, machine: &MachineRef) -> bool {
    found.tag("Name") == Some(&*machine.key.name)
}

/// The instance that counts, of all that were ever made for a machine: the one that is known to be its own, else the newest that runs, else the
/// newest that exists, else what became of the present attempt. What earlier attempts left behind is for the deletion.
pub(super) fn current<'a>(own: &[&'a Found], machine: &MachineRef) -> Option<&'a Found> {
    let newest = |fits: &dyn Fn(&Found) -> bool| {
        own.iter().copied().filter(|found| fits(found)).max_by_key(|found| found.launched)
    };
    let known = known_id(machine);
    newest(&|found| known == Some(&found.id))
        .or_else(|| newest(&|found| found.state() == InstanceState::Running))
        .or_else(|| newest(&Found::exists))
        .or_else(|| newest(&|found| is_the_last(found, machine)))
}

/// Whether this is the instance that a machine asked for last: once it was seen, no other will appear.
pub(super) fn is_the_last(found: &Found, machine: &MachineRef) -> bool {
    match Launch::stored(&machine.status) {
        Some(launch) => found.token == launch.token,
        None if machine.status.attempt().is_some() => found.token == token(machine),
        None => true,
    }
}

#[cfg(test)]
#[path = "sight_tests.rs"]
mod tests;
