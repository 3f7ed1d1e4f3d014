//! Fills a snapshot from the caches, with a live read where an own deletion was not answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS, MACHINE_SETS, MACHINES};
use machinist_domain::key::ObjectKey;
use machinist_domain::safety::{EffectKind, ObjectRef};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::HealthCheckController;
use super::health;
use super::snapshot::{
    Deployment, Limit, Member, NoLimit, NodeView, Snapshot, View, in_flight, is_control_plane,
};
use crate::kinds::{Machine, MachineHealthCheck, Node};
use crate::owner_references::owner_of;

pub(super) async fn observe(
    controller: &HealthCheckController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = controller.checks.get_certain(key).await? else { return Ok(None) };
    // Before anything is read, so that no change is missed; `act` removes it if nothing is waited for.
    controller.waiting.lock().insert(key.clone());
    let meta = entry.meta().clone();
    let content = match entry {
        Entry::Undecodable(object) => Err(object.error.clone()),
        Entry::Known(check) => Ok(view(controller, check).await?),
    };
    Ok(Some(Snapshot { meta, content }))
}

async fn view(
    controller: &HealthCheckController,
    check: Arc<MachineHealthCheck>,
) -> Result<View, ApiError> {
    let now = controller.clock.now();
    let (machines, namespace) = (&controller.machines, &check.meta.key.namespace);
    let selected = |entry: &&Entry<Machine>| {
        entry.meta().key.namespace == *namespace && selects(&check, entry)
    };
    let mut keys: Vec<_> = machines
        .survey(|_, all| all.filter(selected).map(|entry| entry.meta().key.clone()).collect());
    keys.sort();
    machines.certain_among(keys.iter()).await?;
    let entries = keys.iter().filter_map(|key| machines.get(key));
    let mut members: Vec<_> =
        entries.map(|entry| member(controller, &check, &entry, now)).collect();
    let external = controller.external.observe(&check, &mut members).await?;
    let mut view = View {
        now,
        members,
        deployments: BTreeMap::new(),
        control_plane_in_flight: None,
        missing: 0,
        external,
        overlaps: overlaps(controller, &check),
        check,
    };
    let unhealthy = |member: &&Member| health::of(&view.check, member, now).is_unhealthy();
    let candidates: Vec<&Member> = view.members.iter().filter(unhealthy).collect();
    let in_flight = if candidates.iter().any(|member| member.is_control_plane()) {
        control_plane_in_flight(controller, &view, now)
    } else {
        None
    };
    let deployments = deployments(controller, &candidates, now).await;
    view.missing = if matches!(view.check.max_in_flight, Ok(Some(_))) {
        missing(controller, &view.members)
    } else {
        0
    };
    view.control_plane_in_flight = in_flight;
    view.deployments = deployments;
    Ok(view)
}

pub(super) fn selects(check: &MachineHealthCheck, entry: &Entry<Machine>) -> bool {
    match entry {
        Entry::Known(machine) => check.selects(|name| machine.labels.get(name)),
        Entry::Undecodable(object) => {
            check.selects(|name| object.labels.get(name).map(String::as_str))
        }
    }
}

fn member(
    controller: &HealthCheckController,
    check: &MachineHealthCheck,
    entry: &Entry<Machine>,
    now: Timestamp,
) -> Member {
    let machine = entry.known().map(Arc::clone);
    let node = machine.as_deref().map_or(NodeView::None, |machine| node_of(controller, machine));
    let meta = entry.meta().clone();
    let member = Member {
        meta,
        machine,
        node,
        first_seen: Vec::new(),
        frozen: None,
        request: None,
        request_pause: None,
    };
    let frozen_by = |kind, key: &ObjectKey| {
        let object = ObjectRef { kind, key: key.clone() };
        controller.shared.frozen_by(EffectKind::Delete, member.initiator(), &object)
    };
    let frozen = frozen_by(MACHINES.kind, &member.meta.key)
        .or_else(|| frozen_by(MACHINE_HEALTH_CHECKS.kind, &check.meta.key));
    let first_seen = controller.first_seen.of(check, &member, now, controller.clock.uptime());
    Member { first_seen, frozen, ..member }
}

pub(super) fn node_key(machine: &Machine) -> Option<ObjectKey> {
    let node = machine.status.node_ref.as_ref()?;
    Some(ObjectKey::new("", Arc::clone(&node.name)))
}

fn node_of(controller: &HealthCheckController, machine: &Machine) -> NodeView {
    match node_key(machine) {
        None => unlinked(controller, machine),
        Some(key) => node_view(controller.nodes.get(&key)),
    }
}

/// A Node that has registered and is not linked yet: its instance has started.
pub(super) fn unlinked(controller: &HealthCheckController, machine: &Machine) -> NodeView {
    let id = machine.provider_id.as_deref();
    let keys = id.map(|id| controller.nodes_by_provider_id.get(id)).unwrap_or_default();
    match keys.into_iter().find_map(|key| controller.nodes.get(&key)) {
        Some(Entry::Known(node)) => NodeView::Known(node),
        _ => NodeView::None,
    }
}

pub(super) fn node_view(entry: Option<Entry<Node>>) -> NodeView {
    match entry {
        None => NodeView::Gone,
        Some(Entry::Known(node)) => NodeView::Known(node),
        Some(Entry::Undecodable(_)) => NodeView::Undecodable,
    }
}

fn known_node(controller: &HealthCheckController, machine: &Machine) -> Option<Arc<Node>> {
    match node_of(controller, machine) {
        NodeView::Known(node) => Some(node),
        _ => None,
    }
}

/// Those of the MachineSets of the unhealthy Machines.
async fn deployments(
    controller: &HealthCheckController,
    candidates: &[&Member],
    now: Timestamp,
) -> BTreeMap<String, Arc<Deployment>> {
    let (mut by_set, mut by_uid) = (BTreeMap::new(), BTreeMap::<String, Arc<Deployment>>::new());
    for member in candidates {
        let owner = member.machine.as_deref().and_then(|machine| machine.owner.as_deref());
        let Some(owner) = owner.filter(|owner| &*owner.kind == MACHINE_SETS.kind) else { continue };
        if by_set.contains_key(&*owner.uid.0) {
            continue;
        }
        let namespace = &member.meta.key.namespace;
        let set = ObjectKey::new(Arc::clone(namespace), Arc::clone(&owner.name));
        let set = controller.sets.get(&set).filter(|set| set.meta().uid == owner.uid);
        let of_set = set.as_ref().and_then(owner_of);
        let Some(above) = of_set.filter(|one| one.kind == MACHINE_DEPLOYMENTS.kind) else {
            continue;
        };
        if !by_uid.contains_key(above.uid) {
            let key = ObjectKey::new(Arc::clone(namespace), above.name);
            let limit = limit(controller, &key, above.uid, now).await;
            by_uid.insert(above.uid.to_owned(), Arc::new(Deployment { key, limit }));
        }
        let deployment = by_uid.get(above.uid).map(Arc::clone);
        by_set.extend(deployment.map(|deployment| (owner.uid.to_string(), deployment)));
    }
    by_set
}

/// Machines that were deleted, or are to be added, and do not exist yet.
fn missing(controller: &HealthCheckController, members: &[Member]) -> usize {
    let machines = members.iter().filter_map(|member| member.machine.as_deref());
    let owners: BTreeMap<_, _> = machines
        .filter_map(|machine| {
            let owner = machine.owner.as_deref()?;
            let set =
                ObjectKey::new(Arc::clone(&machine.meta.key.namespace), Arc::clone(&owner.name));
            Some((&*owner.uid.0, set))
        })
        .collect();
    let of_set = |(uid, key): (&str, ObjectKey)| {
        let set = controller.sets.get(&key).filter(|set| *set.meta().uid.0 == *uid);
        let replicas = set.as_ref().and_then(Entry::known)?.state.spec.replicas.unwrap_or(1);
        let keys = controller.machines_by_owner.get(uid);
        let entries = keys.iter().filter_map(|key| controller.machines.get(key));
        let present = entries.filter(|entry| !entry.meta().deleting).count();
        Some(usize::try_from(replicas).unwrap_or(0).saturating_sub(present))
    };
    owners.into_iter().filter_map(of_set).sum()
}

async fn limit(
    controller: &HealthCheckController,
    key: &ObjectKey,
    uid: &str,
    now: Timestamp,
) -> Result<Limit, NoLimit> {
    let deployments = controller.deployments().await?;
    let deployment = match deployments.get(key) {
        Some(Entry::Known(deployment)) if *deployment.meta.uid.0 == *uid => deployment,
        Some(Entry::Undecodable(_)) => return Err(NoLimit::Undecodable),
        _ => return Err(NoLimit::Missing),
    };
    let replicas = deployment.spec.replicas.unwrap_or(1);
    let mut limit = Limit {
        replicas: usize::try_from(replicas).unwrap_or(0),
        max_in_flight: deployment.spec.remediation.max_in_flight.clone(),
        present: 0,
        in_flight: Vec::new(),
    };
    for set in controller.sets_by_owner.get(uid).iter().filter_map(|key| controller.sets.get(key)) {
        let keys = controller.machines_by_owner.get(&set.meta().uid.0);
        for entry in keys.iter().filter_map(|key| controller.machines.get(key)) {
            limit.present += usize::from(!entry.meta().deleting);
            let Some(machine) = entry.known() else { continue };
            let node = known_node(controller, machine);
            limit.in_flight.extend(in_flight(machine, node.as_deref(), now));
        }
    }
    Ok(limit)
}

fn control_plane_in_flight(
    controller: &HealthCheckController,
    view: &View,
    now: Timestamp,
) -> Option<ObjectKey> {
    let check = &view.check;
    let others = controller.machines.survey(|_, all| -> Vec<Arc<Machine>> {
        let near = all.filter(|entry| entry.meta().key.namespace == check.meta.key.namespace);
        let others = near.filter(|entry| !selects(check, entry));
        others.filter_map(|entry| entry.known().map(Arc::clone)).collect()
    });
    let mut found = others.iter().filter_map(|machine| {
        let node = known_node(controller, machine);
        let concerns = is_control_plane(machine, node.as_deref());
        (concerns && in_flight(machine, node.as_deref(), now).is_some())
            .then(|| machine.meta.key.clone())
    });
    found.next()
}

/// Older health checks that select some of the same Machines.
fn overlaps(
    controller: &HealthCheckController,
    check: &MachineHealthCheck,
) -> BTreeMap<Arc<str>, usize> {
    let is_older = |other: &MachineHealthCheck| {
        (other.created, &other.meta.key.name) < (check.created, &check.meta.key.name)
    };
    let others = controller.checks.select(|other| {
        let near = other.meta.key.namespace == check.meta.key.namespace;
        near && !other.meta.deleting && other.meta.uid != check.meta.uid && is_older(other)
    });
    let mut overlaps = BTreeMap::new();
    for key in others {
        let Some(Entry::Known(other)) = controller.checks.get(&key) else { continue };
        let both = controller.machines.survey(|_, all| {
            let near = all.filter(|entry| entry.meta().key.namespace == key.namespace);
            near.filter(|entry| selects(check, entry) && selects(&other, entry)).count()
        });
        if both > 0 {
            overlaps.insert(key.name, both);
        }
    }
    overlaps
}
