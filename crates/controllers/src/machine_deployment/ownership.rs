//! The index of MachineSets by owner, the deployments that a change concerns, and whose set has a name.

use std::sync::Arc;

use machinist_api::names::LABEL_TEMPLATE_HASH;
use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_SETS};
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::pairs::Pairs;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use super::node_marks;
use crate::kinds::{
    Machine, MachineDeployment, MachineDeploymentSpec, MachineDeployments, MachineSet, MachineSets,
    Nodes,
};
use crate::machine_set::selector::{Selector, SelectorError};
use crate::owner_references::{orphans_of, owner_of};

pub(super) fn sets_by_owner(entry: &Entry<MachineSet>) -> Vec<Arc<str>> {
    match (owner_of(entry), entry) {
        (Some(owner), _) => vec![owner.uid.into()],
        (None, Entry::Known(set)) => vec![orphans_of(&set.meta.key.namespace).into()],
        // It is never adopted.
        (None, Entry::Undecodable(_)) => Vec::new(),
    }
}

/// Whether an existing deployment is gone, or selects other MachineSets than before.
pub(super) fn selects_otherwise(
    before: Option<&Entry<MachineDeployment>>,
    after: Option<&Entry<MachineDeployment>>,
) -> bool {
    fn selection(
        entry: Option<&Entry<MachineDeployment>>,
    ) -> Option<(&Result<Selector, SelectorError>, &Pairs)> {
        let spec = &entry?.known()?.spec;
        Some((&spec.selector, &spec.template.labels))
    }
    before.is_some() && selection(before) != selection(after)
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

/// Whether a Machine is certainly not in the deployment: neither the Machine nor its set belongs to it. A set that is
/// not in the cache may be in the deployment.
pub(super) fn has_left(
    entry: &Entry<Machine>,
    deployment: &ObjectKey,
    sets: &Cache<MachineSets>,
) -> bool {
    let namespace = &entry.meta().key.namespace;
    let set = owner_of(entry).filter(|owner| owner.kind == MACHINE_SETS.kind);
    let Some(set) = set.filter(|_| *namespace == deployment.namespace) else { return true };
    let Some(set) = sets.get(&ObjectKey::new(Arc::clone(namespace), set.name)) else {
        return false;
    };
    let owner = owner_of(&set).filter(|owner| owner.kind == MACHINE_DEPLOYMENTS.kind);
    owner.is_none_or(|owner| *owner.name != *deployment.name)
}

/// The deployment whose marks the Machine's Node has.
pub(super) fn marked_by(entry: &Entry<Machine>, nodes: &Cache<Nodes>) -> Option<ObjectKey> {
    let node = &entry.known()?.status.node_ref.as_ref()?.name;
    let node = nodes.get(&ObjectKey::new("", Arc::clone(node)))?;
    node_marks::deployment_of(node.known()?)
}

/// Whether the set that has the name of a new one, read live, is the set of the same template and hot fields, or will
/// be adopted as such. Otherwise no later reconcile changes it, and the new set needs another name.
pub(super) fn is_own(
    live: &Entry<MachineSet>,
    deployment: &Meta,
    spec: &MachineDeploymentSpec,
    (hash, hot_fields): (&str, Option<&str>),
) -> bool {
    let is_owned = owner_of(live).map(|owner| *owner.uid == *deployment.uid.0);
    let Entry::Known(set) = live else {
        // It is refused until it can be decoded.
        return is_owned == Some(true);
    };
    let labels = &set.state.labels;
    let is_same = labels.get(LABEL_TEMPLATE_HASH) == Some(hash)
        && set.state.hot_fields.as_deref() == hot_fields;
    let selector = spec.selector.as_ref();
    let is_adoptable =
        || !set.meta.deleting && selector.is_ok_and(|selector| selector.matches(labels));
    is_same && is_owned.unwrap_or_else(is_adoptable)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::samples::{deployment, read, set};
    use super::*;

    fn with(patch: &Value) -> bool {
        let deployment = read(&deployment());
        let hash = set("b", 3, 2, &json!({})).state.labels.get(LABEL_TEMPLATE_HASH).unwrap().into();
        let hash: String = hash;
        let live = Entry::Known(set("b", 3, 2, patch));
        is_own(&live, &deployment.meta, &deployment.spec, (&hash, None))
    }

    #[test]
    fn a_set_that_has_the_name_is_own_if_it_is_owned_or_will_be_adopted() {
        assert!(with(&json!({})));
        let orphan = json!({"ownerReferences": []});
        assert!(with(&json!({"metadata": orphan})), "it is adopted next");
        let released = json!({"ownerReferences": [], "labels": {"app": "mine"}});
        assert!(!with(&json!({"metadata": released})), "it is never adopted");
        let deleted = json!({"ownerReferences": [], "deletionTimestamp": "2026-06-01T11:00:00Z"});
        assert!(!with(&json!({"metadata": deleted})), "it is never adopted");
        let unselected = json!({"labels": {"app": "mine"}});
        assert!(with(&json!({"metadata": unselected})), "it is released next");
        let other =
            json!([{"kind": "MachineDeployment", "name": "x", "uid": "x", "controller": true}]);
        assert!(!with(&json!({"metadata": {"ownerReferences": other}})));
        assert!(!with(&json!({"metadata": {"labels": {LABEL_TEMPLATE_HASH: "other"}}})));
        let fields = json!({"machinist.dev/hot-fields": "tags"});
        assert!(!with(&json!({"metadata": {"annotations": fields}})));
    }
}
