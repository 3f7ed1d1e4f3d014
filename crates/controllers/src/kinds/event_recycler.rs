//! EventRecyclers as the caches store them: all of spec and status. There are few.

use std::sync::Arc;

use machinist_api::event_recycler::{EventRecyclerSpec, EventRecyclerStatus};
use machinist_api::resource::{EVENT_RECYCLERS, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::{Kind, Stored};

/// An EventRecycler in a cache.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecycler {
    /// Identity and version.
    pub meta: Meta,
    /// Counts the changes of the spec.
    pub generation: i64,
    /// Who wants to do something before it goes.
    pub finalizers: Box<[String]>,
    /// What it asks for; `None` where it has no spec.
    pub spec: Option<Arc<EventRecyclerSpec>>,
    /// What was counted and done.
    pub status: Arc<EventRecyclerStatus>,
}

impl Stored for EventRecycler {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

/// Reads EventRecyclers.
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
            finalizers: wire.metadata.finalizers.into(),
            spec: wire.spec.map(Arc::new),
            status: Arc::new(wire.status),
        }
    }
}
