//! MachineSets as the caches store them: identity, shape, and the annotations that say what the shape gives.
//!
//! The provider spec is read when the object arrives, and only its result is kept: a few hundred bytes instead of a few thousand. A
//! spec that cannot be read is stored as such, because somebody has to be told.

use std::collections::HashSet;
use std::sync::Arc;

use machinist_api::resource::{MACHINE_SETS, Resource};
use machinist_api::wire;
use machinist_domain::capacity_annotations::Current;
use machinist_domain::meta::Meta;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::{Kind, Stored};
use parking_lot::Mutex;

/// How many different words are remembered.
const MOST_WORDS: usize = 4096;

/// A MachineSet in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSet {
    /// Identity and version.
    pub meta: Meta,
    /// What its machines ask for.
    pub shape: Result<Shape, SpecError>,
    /// What it says of their capacity.
    pub annotations: Current,
    /// Who is in charge of it, as its status says.
    pub authority: Authority,
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
}

/// Namespaces, regions and types repeat from set to set: each is stored once.
#[derive(Default)]
struct Words(Mutex<HashSet<Arc<str>>>);

impl Words {
    fn share(&self, word: &mut Arc<str>) {
        let mut words = self.0.lock();
        if let Some(known) = words.get(word) {
            *word = Arc::clone(known);
        } else {
            // Nobody has this many in use: most belong to objects that are gone.
            if words.len() >= MOST_WORDS {
                words.clear();
            }
            words.insert(Arc::clone(word));
        }
    }
}

impl std::fmt::Debug for MachineSets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MachineSets")
    }
}

impl MachineSets {
    /// MachineSets whose provider specs `specs` reads.
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        Self { specs, words: Arc::default() }
    }
}

impl Kind for MachineSets {
    type Wire = wire::MachineSet;
    type Stored = MachineSet;
    const RESOURCE: Resource = MACHINE_SETS;

    fn project(&self, wire: wire::MachineSet) -> MachineSet {
        let mut meta = Meta::of(&wire.metadata);
        self.words.share(&mut meta.key.namespace);
        let mut shape = match &wire.spec.template.spec.provider_spec.value {
            None => Err(SpecError::Missing),
            Some(raw) => self.specs.shape(raw),
        };
        if let Ok(Shape { instance_type, region, zone, credentials_secret, .. }) = &mut shape {
            self.words.share(instance_type);
            for word in [region, zone, credentials_secret].into_iter().flatten() {
                self.words.share(word);
            }
        }
        MachineSet {
            meta,
            shape,
            annotations: Current::read(|name| {
                wire.metadata.annotations.get(name).map(String::as_str)
            }),
            authority: authority(&wire.status),
        }
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
