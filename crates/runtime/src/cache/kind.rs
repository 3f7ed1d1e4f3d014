//! Which fields of a kind are parsed and stored.

use machinist_api::resource::Resource;
use machinist_domain::meta::Meta;
use serde::de::DeserializeOwned;

/// A kind in a cache: a lenient wire type, and a projection to the fields that controllers read.
pub trait Kind: Send + Sync + 'static {
    type Wire: DeserializeOwned;
    type Stored: Stored;
    /// [`Resource::UNNAMED`] if it is only known at run time; then [`Kind::resource`] names it.
    const RESOURCE: Resource;
    const METADATA_ONLY: bool = false;
    /// Whether only the objects that name it need it, so that a missing right does not make the process unready.
    const OPTIONAL: bool = false;

    fn resource(&self) -> Resource {
        Self::RESOURCE
    }

    /// Keeps what controllers need. Validation errors are stored as well, so that a controller can report them.
    fn project(&self, wire: Self::Wire) -> Self::Stored;
}

pub trait Stored: Send + Sync + 'static {
    fn meta(&self) -> &Meta;
}

/// CustomResourceDefinitions; only their names are stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct CustomResourceDefinitions;

impl Stored for Meta {
    fn meta(&self) -> &Meta {
        self
    }
}

impl Kind for CustomResourceDefinitions {
    type Wire = machinist_api::wire::MetadataOnly;
    type Stored = Meta;
    const RESOURCE: Resource = machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
    const METADATA_ONLY: bool = true;

    fn project(&self, wire: Self::Wire) -> Self::Stored {
        Meta::of(&wire.metadata)
    }
}
