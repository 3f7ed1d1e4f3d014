//! What the annotator observed of one MachineSet.

use std::sync::Arc;

use machinist_domain::meta::Meta;
use machinist_domain::shape::Capacity;

use crate::kinds::MachineSet;

/// One MachineSet and what is known of its machines.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Identity and version, known even if nothing else is.
    pub meta: Meta,
    /// What it says.
    pub content: Content,
}

/// What a MachineSet says.
#[derive(Debug, Clone)]
pub enum Content {
    /// It can be read.
    Read {
        /// The set.
        set: Arc<MachineSet>,
        /// What a machine of it gives; `None` where nobody knows, or the spec is bad.
        capacity: Option<Capacity>,
    },
    /// It cannot be decoded, for this reason.
    Undecodable(String),
}
