//! What a change does, and on behalf of which object it is sent.

use std::fmt;

use crate::key::ObjectKey;

machinist_api::named_enum! {
    /// What a change does. Status, Events and Leases are records of what is the case, and no effects.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum EffectKind {
        Create = "create",
        Delete = "delete",
        /// Evict a pod, or delete it by force.
        Evict = "evict",
        CloudCreate = "create in the cloud",
        CloudDelete = "delete in the cloud",
        /// Any other change of an object or in the cloud.
        Change = "other change",
    }
}

machinist_api::named_enum! {
    /// Who wants a change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Initiator {
        /// A user or another program, by a spec or a deletion.
        User = "user",
        /// A controller, because of what it observes: a health check, an automatic recycle.
        Controller = "controller",
        /// The cloud, which has announced that it takes the instance.
        Cloud = "cloud",
    }
}

/// An object that a controller reconciles, or one of its owners.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    pub kind: &'static str,
    pub key: ObjectKey,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub kind: EffectKind,
    pub initiator: Initiator,
    /// The object on whose behalf it is sent, then its owner, and so on.
    pub lineage: Vec<ObjectRef>,
}
