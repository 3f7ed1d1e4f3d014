//! Fills a snapshot: the deployment, its sets and their Machines from the caches, with a live read where an own write
//! was not answered.

mod nodes;

use std::sync::Arc;

use machinist_api::names::CONDITION_DRAINED;
use machinist_domain::hash::fnv1a;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::report::EventReason;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::MachineDeploymentController;
use super::hot_fields::HotFields;
use super::memory::version_tried;
use super::snapshot::{Member, Missing, NodesView, Refused, SetView, Snapshot, View};
use super::template;
use crate::kinds::{Machine, MachineDeployment, MachineSet};
use crate::machine_node::{node_of, ready_since};
use crate::machine_set::hold::Hold;
use crate::machine_set::ordinals;
use crate::owner_references::{orphans_of, owner_of};
use crate::preservation;

pub(super) async fn observe(
    controller: &MachineDeploymentController,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = controller.deployments.get_certain(key).await? else {
        return nodes::of_deleted(controller, key).await;
    };
    let meta = entry.meta().clone();
    let content = match entry {
        Entry::Undecodable(object) => Err(Missing::Undecodable(object.error.clone())),
        Entry::Known(deployment) => Ok(view(controller, &meta, &deployment).await?),
    };
    Ok(Some(Snapshot { meta, content }))
}

async fn view(
    controller: &MachineDeploymentController,
    meta: &Meta,
    deployment: &Arc<MachineDeployment>,
) -> Result<View, ApiError> {
    let sets = &controller.sets;
    let mut keys = controller.sets_by_owner.get(&meta.uid.0);
    keys.extend(controller.sets_by_owner.get(&orphans_of(&meta.key.namespace)));
    keys.extend(created(meta, deployment));
    sets.certain_among(keys.iter()).await?;
    keys.sort();
    keys.dedup();
    // All of them before the first set is read: a Machine that was moved must not be missing in both sets.
    for set in keys.iter().filter_map(|key| sets.get(key)) {
        let machines = controller.machines_by_owner.get(&set.meta().uid.0);
        controller.machines.certain_among(machines.iter()).await?;
    }
    let mut view = View {
        deployment: Arc::clone(deployment),
        sets: Vec::new(),
        nodes: NodesView::default(),
        drained: None,
        orphans: Vec::new(),
        unselected: Vec::new(),
        undecodable: None,
        overlaps: overlap(controller, meta, deployment),
        refused: Refused::default(),
        doubtful: false,
        listed: false,
        fingerprint: 0,
        uptime: controller.clock.uptime(),
        move_poll: controller.timings.poll / 4,
    };
    // An autoscaler marks Machines before it scales the deployment.
    let mut state = format!("{};", deployment.generation);
    for key in keys {
        let Some(entry) = sets.get(&key) else { continue };
        let owned = owner_of(&entry).is_some_and(|owner| *owner.uid == *meta.uid.0);
        let orphan = owner_of(&entry).is_none();
        match entry {
            Entry::Undecodable(_) if owned => view.undecodable = Some(key),
            Entry::Undecodable(_) => {}
            Entry::Known(set) => {
                let selector = deployment.spec.selector.as_ref();
                let selected = selector.is_ok_and(|one| one.matches(&set.state.labels));
                if owned && !selected && !set.meta.deleting {
                    view.unselected.push(set);
                } else if owned {
                    state.push_str(&fingerprint(&set));
                    view.sets.push(set_view(controller, set).await?);
                } else if orphan && selected && !set.meta.deleting {
                    view.orphans.push(set);
                }
            }
        }
    }
    view.sets.sort_by_key(|one| (one.set.state.created, one.set.meta.key.clone()));
    missing_in_both(|key| controller.machines.get(key), &mut view.sets);
    view.nodes = nodes::view(controller, meta, &view.sets).await?;
    view.drained = drained(controller, &view.sets);
    view.refused = refused(controller, meta, &view).await?;
    let now = controller.clock.uptime();
    view.fingerprint = fnv1a(state.as_bytes());
    view.doubtful = controller.lists.is_doubtful(&meta.uid, now);
    view.listed = controller.lists.is_listed(&meta.uid, view.fingerprint, now);
    Ok(view)
}

/// A Machine that is moved while the sets are read, one after the other, may be in neither. It is in the cache then,
/// and counts as one whose state is not known.
fn missing_in_both(get: impl Fn(&ObjectKey) -> Option<Entry<Machine>>, sets: &mut [SetView]) {
    let known = |sets: &[SetView], key: &ObjectKey| {
        sets.iter().flat_map(|one| &one.members).any(|member| member.key == *key)
    };
    for at in 0..sets.len() {
        let set = &sets[at].set;
        let Some(hold) = Hold::of(&set.state) else { continue };
        let key = ObjectKey::new(Arc::clone(&set.meta.key.namespace), hold.machine);
        let Some(entry) = get(&key) else { continue };
        let is_it = entry.meta().uid == hold.uid && !entry.meta().deleting;
        let owner = owner_of(&entry);
        let has_it =
            |one: &SetView| owner.as_ref().is_some_and(|owner| *owner.uid == *one.set.meta.uid.0);
        if is_it && sets.iter().any(has_it) && !known(sets, &key) {
            let member = Member {
                key,
                machine: None,
                ready: None,
                unready_since: None,
                preserve_on_node: None,
            };
            sets[at].members.push(member);
        }
    }
}

/// What was refused, unless it has changed since or is to be tried again.
async fn refused(
    controller: &MachineDeploymentController,
    meta: &Meta,
    view: &View,
) -> Result<Refused, ApiError> {
    let (mut refused, now) = (Refused::default(), controller.clock.uptime());
    let claims = view.orphans.iter().chain(&view.unselected).map(|set| &set.meta);
    let members = view.sets.iter().flat_map(|one| &one.members);
    let machines = members.filter_map(|member| Some(&member.machine.as_ref()?.meta));
    let sets = view.sets.iter().map(|one| &one.set.meta);
    let claims = claims.map(|meta| (EventReason::ReconcileError, meta));
    let others = std::iter::once(meta).chain(sets).chain(machines);
    let others = others.map(|meta| (EventReason::FailedUpdate, meta));
    for (reason, object) in claims.chain(others) {
        let failed = controller.refused.lock().get(&object.uid, now).cloned();
        let version = version_tried(meta, object);
        let Some(failed) = failed.filter(|failed| failed.skips(version, now)) else { continue };
        refused.objects.insert(object.uid.clone());
        refused.cause.get_or_insert((reason, failed.cause));
        let retry = failed.retry_at.saturating_sub(now);
        refused.retry = Some(refused.retry.map_or(retry, |first| first.min(retry)));
    }
    for set in &view.orphans {
        if refused.has(&set.meta) {
            refused.orphans.push(set_view(controller, Arc::clone(set)).await?);
        }
    }
    Ok(refused)
}

/// The set of the current template: its creation may not have been answered.
fn created(meta: &Meta, deployment: &MachineDeployment) -> Option<ObjectKey> {
    let hot = HotFields::declared(deployment.spec.hot_fields);
    let parts = template::parts(&deployment.spec.template, &hot).ok()?;
    let collisions = deployment.status.collisions.unwrap_or(0);
    let name = template::set_name(&meta.key.name, &parts.recipe, collisions);
    Some(ObjectKey::new(Arc::clone(&meta.key.namespace), name))
}

/// What decides how many Machines the set may have: its size and its Machines in creation.
fn fingerprint(set: &MachineSet) -> String {
    let window = set.state.window.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{}/{}/{window};", set.meta.uid, set.state.generation)
}

async fn set_view(
    controller: &MachineDeploymentController,
    set: Arc<MachineSet>,
) -> Result<SetView, ApiError> {
    let machines = &controller.machines;
    let keys = controller.machines_by_owner.get(&set.meta.uid.0);
    machines.certain_among(keys.iter()).await?;
    // Open ordinals are read before members: a Machine that appears in between is in both, and not in neither.
    let open = set.state.window.as_ref().map_or_else(
        |_| Vec::new(),
        |window| {
            let child = |ordinal| ordinals::name(&set.meta.key.name, &set.meta.uid, ordinal);
            let keys = window.ordinals().map(child);
            let keys = keys.map(|name| ObjectKey::new(Arc::clone(&set.meta.key.namespace), name));
            keys.filter(|key| machines.get(key).is_none()).collect()
        },
    );
    let (mut members, mut leaving) = (Vec::new(), 0);
    for key in controller.machines_by_owner.get(&set.meta.uid.0) {
        let Some(entry) = machines.get(&key) else { continue };
        if entry.meta().deleting {
            leaving += 1;
            continue;
        }
        let machine = entry.known().map(Arc::clone);
        let node = machine.as_deref().and_then(|one| node_of(&controller.nodes, one));
        let node = node.as_deref();
        let unready = node.filter(|node| !node.is_ready());
        members.push(Member {
            key,
            machine,
            ready: ready_since(node),
            unready_since: unready.and_then(|node| node.readiness.since),
            preserve_on_node: node.and_then(preservation::on_node).map(Arc::from),
        });
    }
    let is_member = |key: &&ObjectKey| members.iter().any(|member| member.key == **key);
    let open = open.iter().filter(|key| !is_member(key)).count();
    let late = controller.sizes.late(&set.meta, controller.clock.uptime());
    Ok(SetView { set, members, leaving, open, late })
}

/// The first Machine that is being deleted and whose drain goes on, as its condition says.
fn drained(controller: &MachineDeploymentController, sets: &[SetView]) -> Option<Arc<str>> {
    let sets = sets.iter().filter(|one| one.leaving > 0);
    let keys = sets.flat_map(|one| controller.machines_by_owner.get(&one.set.meta.uid.0));
    let drains = keys.filter_map(|key| {
        let Some(Entry::Known(machine)) = controller.machines.get(&key) else { return None };
        let condition = machine.condition(CONDITION_DRAINED)?;
        (machine.meta.deleting && !condition.is_true()).then_some(key.name)
    });
    drains.min()
}

/// An older deployment that selects this one's MachineSets, or whose MachineSets this one selects.
fn overlap(
    controller: &MachineDeploymentController,
    meta: &Meta,
    deployment: &MachineDeployment,
) -> Option<ObjectKey> {
    let selects = |one: &MachineDeployment, other: &MachineDeployment| {
        let selector = one.spec.selector.as_ref();
        selector.is_ok_and(|selector| selector.matches(&other.spec.template.labels))
    };
    let is_older = |other: &MachineDeployment| {
        (other.created, &*other.meta.uid.0) < (deployment.created, &*meta.uid.0)
    };
    let mut found = controller.deployments.select(|other| {
        other.meta.key.namespace == meta.key.namespace
            && other.meta.uid != meta.uid
            && is_older(other)
            && (selects(other, deployment) || selects(deployment, other))
    });
    found.sort();
    found.into_iter().next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::samples::{member, set, with_members};
    use super::*;

    #[test]
    fn a_machine_that_is_moved_while_the_sets_are_read_counts_in_one_of_them() {
        let hold = json!({"metadata": {"annotations": {"machinist.dev/hold": "v1 out m m b"}}});
        let sets = || {
            let of = |kind, hold| with_members(set(kind, 1, 1, hold), 0, 0);
            vec![of("a", &hold), of("b", &json!({}))]
        };
        let machine = |owner: &str, metadata: serde_json::Value| {
            let owner = json!([{"apiVersion": "machine.openshift.io/v1beta1",
                "kind": "MachineSet", "name": "x", "uid": owner, "controller": true}]);
            let mut patch = json!({"metadata": {"ownerReferences": owner}});
            super::super::samples::merge(&mut patch, &json!({"metadata": metadata}));
            member("m", None, &patch).machine
        };
        for (cached, expected) in [
            (machine("b-uid", json!({})), 1),
            (machine("a-uid", json!({})), 1),
            (machine("other", json!({})), 0),
            (machine("b-uid", json!({"uid": "again"})), 0),
            (machine("b-uid", json!({"deletionTimestamp": "2026-06-01T10:00:00Z"})), 0),
            (None, 0),
        ] {
            let mut sets = sets();
            missing_in_both(|_| cached.clone().map(Entry::Known), &mut sets);
            assert_eq!((sets[0].members.len(), sets[1].members.len()), (expected, 0), "{cached:?}");
            assert!(sets[0].members.iter().all(|one| one.machine.is_none()));
        }
    }
}
