//! Converts an EC2 instance, and determines its owner. Pure.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_aws_spec::config::ProviderConfig;
use machinist_domain::conditions::whole_seconds;
use machinist_provider::cloud::ownership::{Ownership, TAG_MACHINE_UID};
use machinist_provider::cloud::{
    Address, AddressKind, Instance, InstanceState, MachineRef, ProviderStatus,
};
use serde_json::{Value, json};

use crate::machines::account::ACCOUNT;
use crate::machines::cluster_settings::ClusterSettings;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::launch::{HOST, Launch, known_id, token};
use crate::machines::load_balancers::desired::{LOAD_BALANCERS, PRIVATE_IP, to_store};
use crate::machines::tags;
use crate::messages;

/// The condition in `status.providerStatus`, as OpenShift's provider names it.
const CREATION: &str = "MachineCreation";

/// Without drift. `domains` are the domain names of its VPC.
pub(crate) fn instance(
    found: &Ec2Instance,
    machine: Option<&MachineRef>,
    region: &str,
    domains: &[String],
) -> Instance {
    let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Arc::from);
    Instance {
        id: found.id.as_str().into(),
        provider_id: found.provider_id().into(),
        state: found.state(),
        state_text: found.state.as_str().into(),
        state_reason: found.reason.as_deref().map(Arc::from),
        addresses: addresses(found, domains),
        region: text(region),
        zone: text(&found.zone),
        instance_type: text(&found.instance_type),
        interruptible: found.is_spot,
        uncertain: false,
        drift: None,
        status: status(found, machine),
    }
}

fn status(found: &Ec2Instance, machine: Option<&MachineRef>) -> ProviderStatus {
    let mut status = machine.map(|machine| machine.status.clone()).unwrap_or_default();
    let mut set = |name: &str, value: Value| status.0.insert(name.to_owned(), value);
    set("instanceId", json!(found.id));
    set("instanceState", json!(found.state));
    let balancers = machine.filter(|_| found.exists()).and_then(to_store);
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
        set_created_condition(conditions, since);
    }
    status
}

/// Sets `MachineCreation`, unless it is true already.
fn set_created_condition(conditions: &mut Vec<Value>, since: Timestamp) {
    let created = json!({
        "type": CREATION,
        "status": "True",
        "reason": "MachineCreationSucceeded",
        "message": "Machine successfully created",
        "lastTransitionTime": since,
    });
    match conditions.iter_mut().find(|existing| existing["type"] == created["type"]) {
        Some(existing) if existing["status"] == created["status"] => {}
        Some(existing) => *existing = created,
        None => conditions.push(created),
    }
}

/// The status with `MachineCreation=False`, as OpenShift's provider sets it. The time is that of the first failure.
pub(crate) fn with_failed_condition(
    status: &ProviderStatus,
    message: &str,
    now: Timestamp,
) -> ProviderStatus {
    let mut status = status.clone();
    let conditions = status.0.entry("conditions").or_insert_with(|| json!([]));
    let Value::Array(conditions) = conditions else { return status };
    let existing = conditions.iter_mut().find(|existing| existing["type"] == CREATION);
    let since = existing.as_ref().filter(|existing| existing["status"] == "False");
    let since = since.map(|existing| existing["lastTransitionTime"].clone());
    let failed = json!({
        "type": CREATION,
        "status": "False",
        "reason": "MachineCreationFailed",
        "message": message,
        "lastTransitionTime": since.unwrap_or_else(|| json!(whole_seconds(now))),
    });
    match existing {
        Some(existing) => *existing = failed,
        None => conditions.push(failed),
    }
    status
}

/// In OpenShift's order.
fn addresses(found: &Ec2Instance, domains: &[String]) -> Vec<Address> {
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

pub(crate) fn missing_tags(
    found: &Ec2Instance,
    machine: &MachineRef,
    settings: Option<&ClusterSettings>,
) -> std::collections::BTreeMap<String, String> {
    let none = ClusterSettings::default();
    let spec = ProviderConfig::read(&machine.spec).map(|config| config.tags).unwrap_or_default();
    let mut wanted = tags::wanted(machine, &spec, settings.unwrap_or(&none));
    // Another controller may have used another name of the cluster, and AWS's components do not support two.
    let is_owned = found.tags.iter().any(|(name, value)| tags::marks_owned(name, value));
    wanted.retain(|name, value| {
        found.tag(name) != Some(value) && !(is_owned && tags::marks_owned(name, value))
    });
    wanted
}

/// The tags that differ. Without settings, no tag counts as missing because of them.
pub(crate) fn drift(
    found: &Ec2Instance,
    machine: &MachineRef,
    settings: Option<&ClusterSettings>,
) -> Option<String> {
    if matches!(found.state(), InstanceState::Terminating | InstanceState::Terminated) {
        return None;
    }
    let missing = missing_tags(found, machine, settings);
    (!missing.is_empty()).then(|| messages::tags_differ(missing.keys()))
}

/// The uid tag decides. Without it, the instance lost its tags (its token proves the owner), or another controller
/// created it: then the machine must name its id, and the cluster's tag or the name must match.
pub(crate) fn is_own(found: &Ec2Instance, machine: &MachineRef) -> bool {
    match found.tag(TAG_MACHINE_UID) {
        Some(uid) => uid == &*machine.uid.0,
        None if was_asked_for_by(found, machine) => true,
        None if known_id(machine) == Some(&found.id) => {
            is_of_cluster(found, machine) || has_name(found, machine)
        }
        None => may_be_taken_over(found, machine),
    }
}

/// Whether its client token is of this machine. Tokens cannot be changed.
fn was_asked_for_by(found: &Ec2Instance, machine: &MachineRef) -> bool {
    Ownership::attempt(&found.token, &machine.uid).is_some()
}

/// Whether another controller created it for this machine without storing it.
fn may_be_taken_over(found: &Ec2Instance, machine: &MachineRef) -> bool {
    let untouched = known_id(machine).is_none() && machine.status.attempt().is_none();
    let younger = found.launched.is_some_and(|at| at.as_second() >= machine.created.as_second());
    untouched && younger && is_of_cluster(found, machine) && has_name(found, machine)
}

pub(crate) fn is_of_cluster(found: &Ec2Instance, machine: &MachineRef) -> bool {
    machine.clusters().any(|cluster| found.tag(&tags::cluster_tag(cluster)) == Some("owned"))
}

pub(crate) fn has_name(found: &Ec2Instance, machine: &MachineRef) -> bool {
    found.tag("Name") == Some(&*machine.key.name)
}

/// The current instance: the known one, else the latest that runs, else the latest that exists, else that of the
/// current attempt. Leftovers of earlier attempts are for the deletion.
pub(crate) fn current<'a>(
    own: &[&'a Ec2Instance],
    machine: &MachineRef,
) -> Option<&'a Ec2Instance> {
    let newest = |fits: &dyn Fn(&Ec2Instance) -> bool| {
        own.iter().copied().filter(|found| fits(found)).max_by_key(|found| found.launched)
    };
    let known = known_id(machine);
    newest(&|found| known == Some(&found.id))
        .or_else(|| newest(&|found| found.state() == InstanceState::Running))
        .or_else(|| newest(&Ec2Instance::exists))
        .or_else(|| newest(&|found| is_the_last(found, machine)))
}

/// Whether this is the latest instance that the machine requested, so that no other will appear.
pub(crate) fn is_the_last(found: &Ec2Instance, machine: &MachineRef) -> bool {
    match Launch::stored(&machine.status) {
        Some(launch) => found.token == launch.token,
        None if machine.status.attempt().is_some() => found.token == token(machine),
        None => true,
    }
}

#[cfg(test)]
mod tests;
