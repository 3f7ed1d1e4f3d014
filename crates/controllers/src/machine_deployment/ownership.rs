//! The index of MachineSets by owner, and the deployments that a change concerns.

use std::sync::Arc;

use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_SETS};
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use crate::kinds::{Machine, MachineDeployments, MachineSet, MachineSets};
use crate::owner_references::{orphans_of, owner_of};

pub(super) fn sets_by_owner(entry: &Entry<MachineSet>) -> Vec<Arc<str>> {
    match (owner_of(entry), entry) {
        (Some(owner), _) => vec![owner.uid.into()],
        (None, Entry::Known(set)) => vec![orphans_of(&set.meta.key.namespace).into()],
        // It is never adopted.
        (None, Entry::Undecodable(_)) => Vec::new(),
    }
}

/// The deployments that a set concerns: its owner or, without one, all that select it.
pub(super) fn deployments_of(
    entry: &Entry<MachineSet>,
    deployments: &Cache<MachineDeployments>,
) -> Vec<ObjectKey> {
    let namespace = &entry.meta().key.namespace;
    match (owner_of(entry), entry) {
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
    let owner = owner_of(entry).filter(|owner| owner.kind == MACHINE_SETS.kind)?;
    let namespace = &entry.meta().key.namespace;
    let set = sets.get(&ObjectKey::new(Arc::clone(namespace), owner.name))?;
    let owner = owner_of(&set).filter(|owner| owner.kind == MACHINE_DEPLOYMENTS.kind)?;
    Some(ObjectKey::new(Arc::clone(namespace), owner.name))
}
