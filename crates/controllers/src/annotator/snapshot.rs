use std::sync::Arc;

use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::ObservedCapacity;

#[derive(Debug, Clone)]
pub struct Snapshot<T> {
    pub meta: Meta,
    /// The content, or why it cannot be decoded.
    pub content: Result<Decoded<T>, String>,
    pub options: Options,
    pub obey_migration: bool,
}

#[derive(Debug, Clone)]
pub struct Decoded<T> {
    pub object: Arc<T>,
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
