//! MachineSets as the caches store them: identity, shape, the annotations that say what the shape gives, and what the set says of its machines.
//!
//! The provider spec is read when the object arrives, and only its result is kept: a few hundred bytes instead of a few thousand. A
//! spec that cannot be read is stored as such, because somebody has to be told. Who makes machines from a set needs its template as well
//! ([`MachineSets::with_children`]); a process that only annotates does not pay for it.

mod children;

use std::sync::Arc;

use machinist_api::resource::{MACHINE_SETS, Resource};
use machinist_api::wire;
use machinist_domain::capacity_annotations::Current;
use machinist_domain::meta::Meta;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::{Kind, Stored};

use self::children::Texts;
pub use self::children::{Children, DeletePolicy, MachineSetStatus, Template, UnknownDeletePolicy};
use super::pool::Pool;
use super::words::Words;

/// A MachineSet in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSet {
    /// Identity and version.
    pub meta: Meta,
    /// What its machines ask for.
    pub shape: Result<Arc<Shape>, Box<SpecError>>,
    /// What it says of their capacity.
    pub annotations: Arc<Current>,
    /// Who is in charge of it, as its status says.
    pub authority: Authority,
    /// What it says of its machines; `None` unless somebody asked for it.
    pub children: Option<Arc<Children>>,
}

/// Which of OpenShift's two machine APIs is in charge of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// This one, and it is not paused.
    Here,
    /// The other one, or nobody while they change places.
    Elsewhere,
}

impl Stored for MachineSet {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

/// Reads MachineSets with the spec half of a provider.
#[derive(Clone)]
pub struct MachineSets {
    specs: Arc<dyn SpecHalf>,
    words: Arc<Words>,
    /// What sets ask for, and what they say of their capacity. Those of one type in one zone do so alike.
    shapes: Arc<Pool<Shape>>,
    sayings: Arc<Pool<Current>>,
    /// Templates that somebody has; `None` where nobody wants any.
    texts: Option<Arc<Texts>>,
}

impl std::fmt::Debug for MachineSets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MachineSets")
            .field("with_children", &self.texts.is_some())
            .finish_non_exhaustive()
    }
}

impl MachineSets {
    /// MachineSets whose provider specs `specs` reads.
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        let words = Words::common();
        Self { specs, words, shapes: Arc::default(), sayings: Arc::default(), texts: None }
    }

    /// The same, with what the sets say of their machines. Controllers share a cache, so all of them must be given the same.
    #[must_use]
    pub fn with_children(self) -> Self {
        Self { texts: Some(Arc::default()), ..self }
    }

    fn store_once(&self, mut shape: Shape) -> Arc<Shape> {
        let Shape { instance_type, region, zone, credentials_secret, root_disk_gib: _ } =
            &mut shape;
        let words = [region, zone, credentials_secret].into_iter().flatten();
        for word in words.chain([instance_type]) {
            *word = self.words.share(&**word);
        }
        self.shapes.share(Arc::new(shape))
    }
}

impl Kind for MachineSets {
    type Wire = wire::MachineSet;
    type Stored = MachineSet;
    const RESOURCE: Resource = MACHINE_SETS;

    fn project(&self, wire: wire::MachineSet) -> MachineSet {
        let mut meta = Meta::of(&wire.metadata);
        meta.key.namespace = self.words.share(&meta.key.namespace);
        let shape = match &wire.spec.template.spec.provider_spec.value {
            None => Err(SpecError::Missing),
            Some(raw) => self.specs.shape(raw),
        };
        let shape = shape.map(|shape| self.store_once(shape)).map_err(Box::new);
        let annotations =
            Current::read(|name| wire.metadata.annotations.get(name).map(String::as_str));
        let annotations = self.sayings.share(Arc::new(annotations));
        let authority = authority(&wire.status);
        let children =
            self.texts.as_ref().map(|texts| Arc::new(Children::read(wire, &self.words, texts)));
        MachineSet { meta, shape, annotations, authority, children }
    }
}

fn authority(status: &wire::MachineSetStatus) -> Authority {
    let paused = status
        .conditions
        .iter()
        .any(|condition| condition.kind == "Paused" && condition.status == "True");
    if !paused && status.authoritative_api.as_deref() == Some("MachineAPI") {
        Authority::Here
    } else {
        Authority::Elsewhere
    }
}

#[cfg(test)]
mod tests;
