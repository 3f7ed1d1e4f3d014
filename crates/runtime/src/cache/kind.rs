//! What is read of a kind, and what is stored of it.

use machinist_api::resource::Resource;
use machinist_domain::meta::Meta;
use serde::de::DeserializeOwned;

/// A kind as a cache holds it: a lenient wire type, and a projection to the few things that controllers read.
pub trait Kind: Send + Sync + 'static {
    /// What is parsed.
    type Wire: DeserializeOwned;
    /// What is stored.
    type Stored: Stored;
    /// Where it is served.
    const RESOURCE: Resource;
    /// Whether the API server is asked for metadata alone.
    const METADATA_ONLY: bool = false;

    /// Keeps what is needed. What is wrong with the content of an object is stored, too: somebody will have to say it.
    fn project(&self, wire: Self::Wire) -> Self::Stored;
}

/// Something with identity and version.
pub trait Stored: Send + Sync + 'static {
    /// Identity and version.
    fn meta(&self) -> &Meta;
}

/// CustomResourceDefinitions, of which only the names are known.
#[derive(Debug, Clone, Copy, Default)]
pub struct CustomResourceDefinitions;

/// A CustomResourceDefinition that exists.
#[derive(Debug, Clone)]
pub struct CustomResourceDefinition(Meta);

impl Stored for CustomResourceDefinition {
    fn meta(&self) -> &Meta {
        &self.0
    }
}

impl Kind for CustomResourceDefinitions {
    type Wire = machinist_api::wire::MetadataOnly;
    type Stored = CustomResourceDefinition;
    const RESOURCE: Resource = machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
    const METADATA_ONLY: bool = true;

    fn project(&self, wire: Self::Wire) -> Self::Stored {
        CustomResourceDefinition(Meta::of(&wire.metadata))
    }
}
