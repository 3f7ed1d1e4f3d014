//! The index of Machines by owner, and the sets that a change concerns.

use std::sync::Arc;

use machinist_api::resource::MACHINE_SETS;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use super::selector::Selector;
use crate::kinds::{Machine, MachineSets};
use crate::owner_references::{orphans_of, owner_of};

pub(super) fn by_owner(entry: &Entry<Machine>) -> Vec<Arc<str>> {
    match owner_of(entry) {
        Some(owner) => vec![owner.uid.into()],
        // One that cannot be decoded is not adopted, and counts when Machines are created.
        None => vec![orphans_of(&entry.meta().key.namespace).into()],
    }
}

/// The sets that a Machine concerns: its owner or, without one, all sets whose selector matches it.
pub(super) fn sets_of(entry: &Entry<Machine>, sets: &Cache<MachineSets>) -> Vec<ObjectKey> {
    let namespace = &entry.meta().key.namespace;
    match owner_of(entry) {
        Some(owner) if owner.kind == MACHINE_SETS.kind => {
            vec![ObjectKey::new(Arc::clone(namespace), owner.name)]
        }
        Some(_) => Vec::new(),
        None => sets.select(|set| {
            let selector = &set.state.spec.selector;
            set.meta.key.namespace == *namespace
                && selector.as_ref().is_ok_and(|selector| is_selected(entry, selector))
        }),
    }
}

pub(super) fn is_selected(entry: &Entry<Machine>, selector: &Selector) -> bool {
    match entry {
        Entry::Known(machine) => selector.matches(&machine.labels),
        Entry::Undecodable(object) => {
            selector.matches_by(|name| object.labels.get(name).map(String::as_str))
        }
    }
}
