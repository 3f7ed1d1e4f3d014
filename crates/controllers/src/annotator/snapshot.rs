//! What the annotator observed of one MachineSet.

use std::sync::Arc;

use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::Answer;

use crate::kinds::MachineSet;

/// One MachineSet and what is known of its machines.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Identity and version, known even if nothing else is.
    pub meta: Meta,
    /// What it says.
    pub content: Content,
    /// What to write.
    pub options: Options,
    /// Whether to keep off objects that another machine API is in charge of.
    pub obey_migration: bool,
}

/// What a MachineSet says.
#[derive(Debug, Clone)]
pub enum Content {
    /// It can be read.
    Read {
        /// The set.
        set: Arc<MachineSet>,
        /// What the cloud says of its machines.
        cloud: Cloud,
        /// What the built-in catalogue says of them, if it is to be asked and knows the type.
        catalogue: Option<Capacity>,
    },
    /// It cannot be decoded, for this reason.
    Undecodable(String),
}

/// What the cloud says.
#[derive(Debug, Clone)]
pub enum Cloud {
    /// It is not to be asked.
    Off,
    /// The spec is bad, or does not say where to ask.
    NoRegion,
    /// The Secret that the spec names is not there.
    NoSecret(ObjectKey),
    /// Whom to ask, and as whom, could not be found out: it may not be read, or nobody answers.
    NotFoundOut(Failure),
    /// It was asked.
    Said(Answer),
}
