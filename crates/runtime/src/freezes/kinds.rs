//! What the caches store of ConfigMaps and Namespaces: the words of who asks for a freeze.

use machinist_api::names::ANNOTATION_FREEZE;
use machinist_api::resource::{CONFIG_MAPS, NAMESPACES, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;

use super::sources::Freezable;
use crate::cache::kind::{Kind, Stored};

/// The ConfigMap `machinist-freeze`.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreezeConfigMaps;

#[derive(Debug, Clone, Copy)]
pub(super) struct Namespaces;

#[derive(Debug)]
pub(super) struct Request {
    meta: Meta,
    text: Option<Box<str>>,
}

impl Stored for Request {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl Freezable for Request {
    fn freeze(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

impl Kind for FreezeConfigMaps {
    type Wire = wire::FreezeConfigMap;
    type Stored = Request;
    const RESOURCE: Resource = CONFIG_MAPS;

    fn project(&self, mut wire: wire::FreezeConfigMap) -> Request {
        let text = wire.data.remove("reason").unwrap_or_default();
        Request { meta: Meta::of(&wire.metadata), text: Some(text.into()) }
    }
}

impl Kind for Namespaces {
    type Wire = wire::MetadataOnly;
    type Stored = Request;
    const RESOURCE: Resource = NAMESPACES;
    const METADATA_ONLY: bool = true;

    fn project(&self, mut wire: wire::MetadataOnly) -> Request {
        let text = wire.metadata.annotations.remove(ANNOTATION_FREEZE).map(Into::into);
        Request { meta: Meta::of(&wire.metadata), text }
    }
}
