//! Gathers a snapshot: the set and its machines from the caches, live where an answer was lost.

use std::collections::HashSet;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::membership::{Manager, Standing, standing};
use machinist_domain::meta::Meta;
use machinist_domain::ordinals;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::MachineSetController;
use super::family::{orphans_of, uid_of_manager};
use super::snapshot::{Content, Family, Member, ReadySince, Seen, Snapshot};
use crate::kinds::{Machine, MachineSetState};

pub(super) async fn observe(
    controller: &MachineSetController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = controller.sets.get_certain(key).await? else { return Ok(None) };
    let meta = entry.meta().clone();
    let content = match entry {
        Entry::Undecodable(object) => Content::Undecodable(object.error.clone()),
        Entry::Known(set) => Content::Read(family(controller, &meta, &set.state).await?),
    };
    Ok(Some(Snapshot {
        meta,
        content,
        obey_migration: controller.settings.obey_migration,
        authority_field: *controller.authority_field.lock(),
    }))
}

async fn family(
    controller: &MachineSetController,
    meta: &Meta,
    says: &Arc<MachineSetState>,
) -> Result<Family, ApiError> {
    let machines = &controller.machines;
    let window: Vec<(u64, ObjectKey)> = says.window.as_ref().map_or_else(
        |_| Vec::new(),
        |window| window.ordinals().map(|ordinal| (ordinal, child(meta, ordinal))).collect(),
    );
    let known = candidates(controller, meta);
    machines.certain_among(known.iter().chain(window.iter().map(|(_, key)| key))).await?;
    // What is open is looked at before what is there: a machine that appears in between is counted twice for a moment, and not left out, which
    // would make another one.
    let mut open = window;
    open.retain(|(_, key)| machines.get(key).is_none());
    let mut family = Family {
        says: Arc::clone(says),
        members: Vec::new(),
        orphans: Vec::new(),
        strays: Vec::new(),
        refusal: None,
        claim_again: None,
        open: Vec::new(),
        highest: None,
        looked: controller.looked.has(&meta.uid, says.generation),
        hold_counts: controller.counted.hold(&meta.uid, controller.clock.uptime()),
    };
    // Live reads may have found, or lost, some.
    for key in candidates(controller, meta) {
        if let Some(entry) = machines.get(&key) {
            place(controller, meta, &mut family, &entry);
        }
    }
    let members: HashSet<_> = family.members.iter().map(|member| &member.key).collect();
    open.retain(|(_, key)| !members.contains(key));
    family.open = open.into_iter().map(|(ordinal, _)| ordinal).collect();
    Ok(family)
}

/// The name of the set's machine with this ordinal.
pub(super) fn child(set: &Meta, ordinal: u64) -> ObjectKey {
    let name = ordinals::name(&set.key.name, &set.uid, ordinal);
    ObjectKey { namespace: Arc::clone(&set.key.namespace), name: name.into() }
}

/// Machines that the set manages, and those that nobody does.
fn candidates(controller: &MachineSetController, set: &Meta) -> Vec<ObjectKey> {
    let mut keys = controller.by_manager.get(&set.uid.0);
    keys.extend(controller.by_manager.get(&orphans_of(&set.key.namespace)));
    keys
}

fn place(
    controller: &MachineSetController,
    set: &Meta,
    family: &mut Family,
    entry: &Entry<Machine>,
) {
    let meta = entry.meta();
    let manager = match uid_of_manager(entry) {
        None => Manager::Nobody,
        Some(uid) if *uid == *set.uid.0 => Manager::ThisSet,
        Some(_) => Manager::Another,
    };
    let Ok(selector) = &family.says.spec.selector else { return };
    let (selected, seen) = match entry {
        Entry::Known(machine) => (selector.matches(&machine.labels), Some(machine)),
        Entry::Undecodable(object) => {
            (selector.matches_by(|name| object.labels.get(name).map(String::as_str)), None)
        }
    };
    if manager == Manager::ThisSet {
        let ordinal = ordinals::ordinal(&set.key.name, &set.uid, &meta.key.name);
        family.highest = family.highest.max(ordinal);
    }
    match (standing(manager, selected, meta.deleting), seen) {
        (Standing::Member, seen) => family.members.push(Member {
            key: meta.key.clone(),
            seen: seen.map(|machine| Seen {
                machine: Arc::clone(machine),
                ready: ready(controller, machine),
            }),
        }),
        // What was refused once is asked for again when the machine has changed.
        (found @ (Standing::Orphan | Standing::Stray), Some(machine)) => {
            match (controller.refused.why(meta, controller.clock.uptime()), found) {
                (Some(unclaimed), _) => {
                    // One of several is told, the same one each time: candidates come in order.
                    family.refusal.get_or_insert(unclaimed.why);
                    let again = family.claim_again.into_iter().chain(unclaimed.again);
                    family.claim_again = again.min();
                }
                (None, Standing::Orphan) => family.orphans.push(Arc::clone(machine)),
                (None, _) => family.strays.push(Arc::clone(machine)),
            }
        }
        _ => {}
    }
}

/// Since when the machine's Node has been ready, if it is. Another Node of the same name is not the machine's.
fn ready(controller: &MachineSetController, machine: &Machine) -> Option<ReadySince> {
    let node_ref = machine.status.node_ref.as_ref()?;
    let key = ObjectKey {
        namespace: Arc::clone(&controller.no_namespace),
        name: Arc::clone(&node_ref.name),
    };
    let Some(Entry::Known(node)) = controller.nodes.get(&key) else { return None };
    let same = node_ref.uid.0.is_empty() || node_ref.uid == node.meta.uid;
    (same && node.is_ready()).then_some(node.readiness.since)
}
