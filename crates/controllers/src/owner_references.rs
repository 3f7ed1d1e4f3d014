//! Owner references: the controller owner of an object in a cache, and the lists that are written.
//!
//! A patch replaces the whole list, so other owners are written back unchanged. Not here: which owner an object gets.

use std::sync::Arc;

use machinist_api::resource::Resource;
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::store::Entry;
use serde_json::{Value, json};

use crate::kinds::{self, Machine, MachineSet};

/// A kind whose objects have a controller owner.
pub(crate) trait Owned {
    fn owner(&self) -> Option<&kinds::Owner>;
}

impl Owned for Machine {
    fn owner(&self) -> Option<&kinds::Owner> {
        self.owner.as_deref()
    }
}

impl Owned for MachineSet {
    fn owner(&self) -> Option<&kinds::Owner> {
        self.state.owner.as_deref()
    }
}

pub(crate) struct Owner<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
}

/// The controller owner, also of an object that cannot be decoded.
pub(crate) fn owner_of<T: Owned>(entry: &Entry<T>) -> Option<Owner<'_>> {
    match entry {
        Entry::Known(object) => {
            let owner = object.owner()?;
            Some(Owner { kind: &owner.kind, name: &owner.name, uid: &owner.uid.0 })
        }
        Entry::Undecodable(object) => {
            let owner = object.owners.iter().find(|owner| owner.controller)?;
            Some(Owner { kind: &owner.kind, name: &owner.name, uid: &owner.uid })
        }
    }
}

/// The index term of objects without an owner. No uid has a slash.
pub(crate) fn orphans_of(namespace: &str) -> String {
    format!("orphans/{namespace}")
}

/// The terms of an index by the owner's uid; none for an orphan.
pub(crate) fn owner_uid<T: Owned>(entry: &Entry<T>) -> Vec<Arc<str>> {
    owner_of(entry).map(|owner| owner.uid.into()).into_iter().collect()
}

/// `metadata.ownerReferences` with the other owners unchanged and, if there is one, this controller owner.
pub(crate) fn references(
    others: &[wire::OwnerReference],
    controller: Option<(Resource, &Meta)>,
) -> Value {
    let controller = controller.map(|(resource, meta)| {
        json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "name": &*meta.key.name,
            "uid": &*meta.uid.0,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    });
    others.iter().map(unchanged).chain(controller).collect()
}

fn unchanged(owner: &wire::OwnerReference) -> Value {
    let mut json = json!({
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    });
    if owner.block_owner_deletion {
        json["blockOwnerDeletion"] = json!(true);
    }
    json
}

#[cfg(test)]
mod tests {
    use machinist_api::resource::MACHINE_SETS;
    use machinist_domain::key::{ObjectKey, Uid, Version};

    use super::*;

    fn meta() -> Meta {
        let key = ObjectKey::new("ns", "set");
        Meta { key, uid: Uid("set-uid".into()), version: Version(1), deleting: false }
    }

    fn other(block_owner_deletion: bool) -> wire::OwnerReference {
        wire::OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: "other".to_owned(),
            uid: "other-uid".to_owned(),
            controller: false,
            block_owner_deletion,
        }
    }

    #[test]
    fn other_owners_are_written_unchanged_before_the_controller() {
        let plain = json!(
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "other-uid"}
        );
        let mut blocking = plain.clone();
        blocking["blockOwnerDeletion"] = json!(true);
        let ours = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "set",
            "uid": "set-uid", "controller": true, "blockOwnerDeletion": true,
        });
        let others = [other(false), other(true)];
        let meta = meta();
        let written = references(&others, Some((MACHINE_SETS, &meta)));
        assert_eq!(written, json!([plain, blocking, ours]));
        assert_eq!(references(&others, None), json!([plain, blocking]));
        assert_eq!(references(&[], None), json!([]));
    }

    #[test]
    fn objects_are_indexed_by_the_uid_of_their_controller_owner() {
        struct Child(Option<kinds::Owner>);
        impl Owned for Child {
            fn owner(&self) -> Option<&kinds::Owner> {
                self.0.as_ref()
            }
        }
        let entry = |owner| Entry::Known(Arc::new(Child(owner)));
        assert!(owner_of(&entry(None)).is_none() && owner_uid(&entry(None)).is_empty());
        let child = entry(Some(kinds::Owner {
            api_version: "v1".into(),
            kind: "MachineSet".into(),
            name: "set".into(),
            uid: Uid("set-uid".into()),
        }));
        let owner = owner_of(&child).unwrap();
        assert_eq!((owner.kind, owner.name, owner.uid), ("MachineSet", "set", "set-uid"));
        assert_eq!(owner_uid(&child), ["set-uid".into()]);
    }
}
