//! What the annotator observed about one MachineSet.

use std::sync::Arc;

use machinist_domain::capacity_annotations::{Current, Options};
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_domain::shape::{Capacity, Shape};
use machinist_provider::capacity::ObservedCapacity;
use machinist_provider::spec::SpecError;

use crate::kinds::Authority;

/// One MachineSet and the capacity of its instance type.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Identity and version.
    pub meta: Meta,
    /// Its content.
    pub content: Content,
    /// What to write.
    pub options: Options,
    /// Whether to leave objects alone that another machine API manages.
    pub obey_migration: bool,
}

/// The content of a MachineSet.
#[derive(Debug, Clone)]
pub enum Content {
    /// It was decoded.
    Decoded(Decoded),
    /// It cannot be decoded, for this reason.
    Undecodable(String),
}

/// A MachineSet that was decoded.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// Which machine API manages it.
    pub authority: Authority,
    /// The provider of its spec.
    pub provider: Option<&'static str>,
    /// What its provider spec asks for.
    pub shape: Result<Arc<Shape>, Box<SpecError>>,
    /// Its capacity annotations.
    pub annotations: Arc<Current>,
    /// What the provider's cloud answers about the instance type.
    pub cloud: CloudAnswer,
    /// The entry of the provider's catalogue, if there is one.
    pub catalogue: Option<Capacity>,
}

/// What a provider's cloud answers about an instance type.
#[derive(Debug, Clone)]
pub enum CloudAnswer {
    /// The provider has neither a cloud API nor a catalogue for capacities.
    NotSupported,
    /// The cloud is not used: the catalogue decides.
    NotUsed,
    /// The provider spec is invalid or names no region.
    NoRegion,
    /// The Secret that the provider spec names does not exist.
    NoSecret(ObjectKey),
    /// Credentials or endpoint could not be read from the cluster.
    NoAccess(Failure),
    /// The cloud's answer, as far as it is known.
    Answered(ObservedCapacity),
}
