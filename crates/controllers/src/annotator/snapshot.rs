use std::sync::Arc;

use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::ObservedCapacity;

use crate::kinds::MachineSet;

#[derive(Debug, Clone)]
pub struct Snapshot<S> {
    pub meta: Meta,
    /// The content, or why it cannot be decoded.
    pub content: Result<Decoded<S>, String>,
    pub options: Options,
    pub obey_migration: bool,
}

#[derive(Debug, Clone)]
pub struct Decoded<S> {
    pub set: Arc<MachineSet<S>>,
    pub cloud: CloudAnswer,
    pub catalogue: Option<Capacity>,
}

#[derive(Debug, Clone)]
pub enum CloudAnswer {
    /// The provider has neither a cloud API nor a catalogue for capacities.
    NotSupported,
    /// The cloud is not used: the catalogue decides.
    NotUsed,
    /// The provider spec is invalid or names no region.
    NoRegion,
    NoSecret(ObjectKey),
    NoAccess(Failure),
    Answered(ObservedCapacity),
}
