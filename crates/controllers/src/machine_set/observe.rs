//! Fills a snapshot: the set and its Machines from the caches, with a live read where an own write was not answered.

use std::collections::HashSet;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::MachineSetController;
use super::membership::{Membership, Owner, membership};
use super::memory::hold;
use super::ownership::is_selected;
use super::snapshot::{InFlight, Member, Seen, Snapshot, View};
use super::{messages, ordinals};
use crate::kinds::{Machine, MachineSetState};
use crate::machine_node::{node_of, ready_since};
use crate::owner_references::{orphans_of, owner_of};
use crate::preservation;
use crate::served::Field;

pub(super) async fn observe(
    controller: &MachineSetController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = controller.sets.get_certain(key).await? else { return Ok(None) };
    let meta = entry.meta().clone();
    let mut conditions_field = *controller.conditions_field.lock();
    let content = match entry {
        Entry::Undecodable(object) => Err(object.error.clone()),
        Entry::Known(set) => {
            if !set.state.status.conditions.is_empty() {
                conditions_field = Field::Served;
            }
            Ok(view(controller, &meta, &set.state).await?)
        }
    };
    let gate = controller.migration.get().await?;
    let (obey_migration, authority_field) = gate.rules(*controller.authority_field.lock());
    Ok(Some(Snapshot { meta, content, obey_migration, authority_field, conditions_field }))
}

async fn view(
    controller: &MachineSetController,
    meta: &Meta,
    set: &Arc<MachineSetState>,
) -> Result<View, ApiError> {
    let machines = &controller.machines;
    let window: Vec<(u64, ObjectKey)> = set.window.as_ref().map_or_else(
        |_| Vec::new(),
        |window| window.ordinals().map(|ordinal| (ordinal, child(meta, ordinal))).collect(),
    );
    let known = candidates(controller, meta);
    machines.certain_among(known.iter().chain(window.iter().map(|(_, key)| key))).await?;
    // Open ordinals are read before members: a Machine that appears in between is in both, and is removed from the open
    // ones below. The other order would miss it and create another one.
    let mut open = window;
    open.retain(|(_, key)| machines.get(key).is_none());
    let now = controller.clock.uptime();
    let written = controller.counts_written.lock().get(&meta.uid, now).copied();
    let in_flight = set
        .window
        .as_ref()
        .map_or(InFlight::No, |window| controller.creations.in_flight(&meta.uid, *window, now));
    let mut view = View {
        set: Arc::clone(set),
        members: Vec::new(),
        orphans: Vec::new(),
        unselected: Vec::new(),
        unadopted_orphans: 0,
        claim_failure: None,
        claim_retry: None,
        open_ordinals: Vec::new(),
        leaving_ordinals: 0,
        highest_ordinal: None,
        in_flight,
        listed: controller.lists.serves(&meta.uid, set.generation, now),
        hold_counts: hold(written, controller.settings.timings.set_counts, now),
    };
    // The live reads may have added or removed candidates.
    for key in candidates(controller, meta) {
        if let Some(entry) = machines.get(&key) {
            add(controller, meta, &mut view, &entry);
        }
    }
    let members: HashSet<_> = view.members.iter().map(|member| &member.key).collect();
    open.retain(|(_, key)| !members.contains(key));
    view.open_ordinals = open.into_iter().map(|(ordinal, _)| ordinal).collect();
    Ok(view)
}

pub(super) fn child(set: &Meta, ordinal: u64) -> ObjectKey {
    let name = ordinals::name(&set.key.name, &set.uid, ordinal);
    ObjectKey::new(Arc::clone(&set.key.namespace), name)
}

fn candidates(controller: &MachineSetController, set: &Meta) -> Vec<ObjectKey> {
    let mut keys = controller.by_owner.get(&set.uid.0);
    keys.extend(controller.by_owner.get(&orphans_of(&set.key.namespace)));
    keys
}

fn add(controller: &MachineSetController, set: &Meta, view: &mut View, entry: &Entry<Machine>) {
    let meta = entry.meta();
    let owner = match owner_of(entry) {
        None => Owner::None,
        Some(owner) if *owner.uid == *set.uid.0 => Owner::ThisSet,
        Some(_) => Owner::Other,
    };
    let Ok(selector) = &view.set.spec.selector else { return };
    let selected = is_selected(entry, selector);
    if owner == Owner::ThisSet {
        let ordinal = ordinals::ordinal(&set.key.name, &set.uid, &meta.key.name);
        view.highest_ordinal = view.highest_ordinal.max(ordinal);
        let in_window = |ordinal| {
            let window = view.set.window.as_ref();
            window.is_ok_and(|window| window.ordinals().contains(&ordinal))
        };
        view.leaving_ordinals += usize::from(meta.deleting && ordinal.is_some_and(in_window));
    }
    match (membership(owner, selected, meta.deleting), entry.known()) {
        (Membership::Member, machine) => view.members.push(Member {
            key: meta.key.clone(),
            seen: machine.map(|machine| {
                let node = node_of(&controller.nodes, machine);
                let preserve = node.as_deref().and_then(preservation::on_node);
                Seen {
                    machine: Arc::clone(machine),
                    ready: ready_since(node.as_deref()),
                    preserve_on_node: preserve.map(Arc::from),
                }
            }),
        }),
        (found @ (Membership::Orphan | Membership::Unselected), Some(machine)) => {
            let now = controller.clock.uptime();
            let failed = controller.failed_claims.lock().get(&meta.uid, now).cloned();
            match (failed.filter(|failed| failed.skips(meta.version, now)), found) {
                (Some(failed), _) => {
                    // Candidates are sorted, so the same failure is reported each time.
                    view.claim_failure.get_or_insert(failed.cause);
                    let retry = failed.retry_at.saturating_sub(now);
                    view.claim_retry = Some(view.claim_retry.map_or(retry, |at| at.min(retry)));
                    view.unadopted_orphans += usize::from(found == Membership::Orphan);
                }
                (None, Membership::Orphan) => view.orphans.push(Arc::clone(machine)),
                (None, _) => view.unselected.push(Arc::clone(machine)),
            }
        }
        // It runs, and is adopted when it can be decoded.
        (Membership::Orphan, None) => {
            let cause = || messages::orphan_undecodable(&meta.key.name).into();
            view.claim_failure.get_or_insert_with(cause);
            view.unadopted_orphans += 1;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
