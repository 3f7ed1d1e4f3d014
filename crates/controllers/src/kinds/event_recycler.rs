//! EventRecyclers as the caches store them, with all of spec and status: there are few.

use std::sync::Arc;

use machinist_api::event_recycler::{EventRecyclerSpec, EventRecyclerStatus};
use machinist_api::names::ANNOTATION_FREEZE;
use machinist_api::resource::{EVENT_RECYCLERS, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::Kind;

#[derive(Debug, Clone, PartialEq)]
pub struct EventRecycler {
    pub meta: Meta,
    pub generation: i64,
    pub finalizers: Box<[String]>,
    /// The annotation `machinist.dev/freeze`.
    pub freeze: Option<Box<str>>,
    pub spec: Option<Arc<EventRecyclerSpec>>,
    pub status: Arc<EventRecyclerStatus>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct EventRecyclers;

impl Kind for EventRecyclers {
    type Wire = wire::EventRecycler;
    type Stored = EventRecycler;
    const RESOURCE: Resource = EVENT_RECYCLERS;

    fn project(&self, wire: wire::EventRecycler) -> EventRecycler {
        EventRecycler {
            meta: Meta::of(&wire.metadata),
            generation: wire.metadata.generation,
            freeze: wire
                .metadata
                .annotations
                .get(ANNOTATION_FREEZE)
                .map(|text| text.as_str().into()),
            finalizers: wire.metadata.finalizers.into(),
            spec: wire.spec.map(Arc::new),
            status: Arc::new(wire.status),
        }
    }
}
