//! Owner references in the caches: the index of Machines by owner, and the sets that a change concerns.

use std::sync::Arc;

use machinist_api::resource::MACHINE_SETS;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use crate::kinds::{Machine, MachineSets};

/// The uid of a Machine's controller owner.
pub(super) fn owner_uid(entry: &Entry<Machine>) -> Option<&str> {
    match entry {
        Entry::Known(machine) => machine.owner.as_ref().map(|owner| &*owner.uid.0),
        Entry::Undecodable(object) => {
            object.owners.iter().find(|owner| owner.controller).map(|owner| &*owner.uid)
        }
    }
}

/// The index term of Machines without an owner. No uid has a slash.
pub(super) fn orphans_of(namespace: &str) -> String {
    format!("orphans/{namespace}")
}

/// The index terms of a Machine: its owner's uid, or that it has none.
pub(super) fn by_owner(entry: &Entry<Machine>) -> Vec<Arc<str>> {
    match entry {
        Entry::Known(machine) => match &machine.owner {
            Some(owner) => vec![Arc::from(&*owner.uid.0)],
            None => vec![orphans_of(&machine.meta.key.namespace).into()],
        },
        // A Machine that cannot be decoded is never adopted.
        Entry::Undecodable(_) => owner_uid(entry).map(Arc::from).into_iter().collect(),
    }
}

/// The sets that a Machine concerns: its owner or, without one, all sets whose selector matches it.
pub(super) fn sets_of(entry: &Entry<Machine>, sets: &Cache<MachineSets>) -> Vec<ObjectKey> {
    let namespace = &entry.meta().key.namespace;
    let set = |kind: &str, name: Arc<str>| {
        let is_set = kind == MACHINE_SETS.kind;
        is_set.then(|| ObjectKey { namespace: Arc::clone(namespace), name })
    };
    match entry {
        Entry::Known(machine) => match &machine.owner {
            Some(owner) => set(&owner.kind, Arc::clone(&owner.name)).into_iter().collect(),
            None => sets.select(|set| {
                set.meta.key.namespace == *namespace
                    && set
                        .state
                        .spec
                        .selector
                        .as_ref()
                        .is_ok_and(|one| one.matches(&machine.labels))
            }),
        },
        Entry::Undecodable(object) => {
            let owner = object.owners.iter().find(|owner| owner.controller);
            owner
                .and_then(|owner| set(&owner.kind, owner.name.as_str().into()))
                .into_iter()
                .collect()
        }
    }
}
