//! Owner references in the caches: MachineSets by deployment, Machines by MachineSet.

use std::sync::Arc;

use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_SETS};
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use crate::kinds::{Machine, MachineDeployments, MachineSet, MachineSets};

pub(super) struct Owner<'a> {
    kind: &'a str,
    name: &'a str,
    pub(super) uid: &'a str,
}

pub(super) fn set_owner(entry: &Entry<MachineSet>) -> Option<Owner<'_>> {
    match entry {
        Entry::Known(set) => {
            let owner = set.state.owner.as_ref()?;
            Some(Owner { kind: &owner.kind, name: &owner.name, uid: &owner.uid.0 })
        }
        Entry::Undecodable(object) => {
            let owner = object.owners.iter().find(|owner| owner.controller)?;
            Some(Owner { kind: &owner.kind, name: &owner.name, uid: &owner.uid })
        }
    }
}

fn machine_owner(entry: &Entry<Machine>) -> Option<Owner<'_>> {
    match entry {
        Entry::Known(machine) => {
            let owner = machine.owner.as_ref()?;
            Some(Owner { kind: &owner.kind, name: &owner.name, uid: &owner.uid.0 })
        }
        Entry::Undecodable(object) => {
            let owner = object.owners.iter().find(|owner| owner.controller)?;
            Some(Owner { kind: &owner.kind, name: &owner.name, uid: &owner.uid })
        }
    }
}

/// The index term of MachineSets without an owner. No uid has a slash.
pub(super) fn orphans_of(namespace: &str) -> String {
    format!("orphans/{namespace}")
}

pub(super) fn sets_by_owner(entry: &Entry<MachineSet>) -> Vec<Arc<str>> {
    match (set_owner(entry), entry) {
        (Some(owner), _) => vec![owner.uid.into()],
        (None, Entry::Known(set)) => vec![orphans_of(&set.meta.key.namespace).into()],
        // It is never adopted.
        (None, Entry::Undecodable(_)) => Vec::new(),
    }
}

pub(super) fn machines_by_owner(entry: &Entry<Machine>) -> Vec<Arc<str>> {
    machine_owner(entry).map(|owner| owner.uid.into()).into_iter().collect()
}

/// The deployments that a set concerns: its owner or, without one, all that select it.
pub(super) fn deployments_of(
    entry: &Entry<MachineSet>,
    deployments: &Cache<MachineDeployments>,
) -> Vec<ObjectKey> {
    let namespace = &entry.meta().key.namespace;
    match (set_owner(entry), entry) {
        (Some(owner), _) if owner.kind == MACHINE_DEPLOYMENTS.kind => {
            vec![ObjectKey::new(Arc::clone(namespace), owner.name)]
        }
        (None, Entry::Known(set)) => deployments.select(|deployment| {
            let selector = &deployment.spec.selector;
            deployment.meta.key.namespace == *namespace
                && selector.as_ref().is_ok_and(|selector| selector.matches(&set.state.labels))
        }),
        _ => Vec::new(),
    }
}

/// The deployment of the set that owns a Machine.
pub(super) fn deployment_of(
    entry: &Entry<Machine>,
    sets: &Cache<MachineSets>,
) -> Option<ObjectKey> {
    let owner = machine_owner(entry).filter(|owner| owner.kind == MACHINE_SETS.kind)?;
    let namespace = &entry.meta().key.namespace;
    let set = sets.get(&ObjectKey::new(Arc::clone(namespace), owner.name))?;
    let owner = set_owner(&set).filter(|owner| owner.kind == MACHINE_DEPLOYMENTS.kind)?;
    Some(ObjectKey::new(Arc::clone(namespace), owner.name))
}
