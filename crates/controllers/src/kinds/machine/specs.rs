//! Provider specs, of which the machines of a set all have the same: each is stored and read once, as long as somebody has it.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use parking_lot::Mutex;
use serde_json::value::RawValue;

/// When specs that nobody has any more are swept.
const SWEEP_AT: usize = 1024;

/// A provider spec and what it asks for.
#[derive(Debug)]
pub struct ProviderSpec {
    /// As it stands in the object.
    pub raw: Arc<RawValue>,
    /// What it asks for.
    pub shape: Result<Shape, SpecError>,
}

/// Specs that somebody has.
pub(super) struct Specs {
    reader: Arc<dyn SpecHalf>,
    known: Mutex<HashMap<u64, Weak<ProviderSpec>>>,
}

impl Specs {
    pub(super) fn new(reader: Arc<dyn SpecHalf>) -> Self {
        Self { reader, known: Mutex::default() }
    }

    /// The spec, in the place where it was stored first.
    pub(super) fn share(&self, raw: Box<RawValue>) -> Arc<ProviderSpec> {
        let mut hasher = DefaultHasher::new();
        raw.get().hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(known) = self.find(hash, &raw) {
            return known;
        }
        let shape = self.reader.shape(&raw);
        let spec = Arc::new(ProviderSpec { raw: Arc::from(raw), shape });
        let mut known = self.known.lock();
        if known.len() >= SWEEP_AT {
            known.retain(|_, spec| spec.strong_count() > 0);
        }
        known.insert(hash, Arc::downgrade(&spec));
        spec
    }

    fn find(&self, hash: u64, raw: &RawValue) -> Option<Arc<ProviderSpec>> {
        let known = self.known.lock().get(&hash)?.upgrade()?;
        (known.raw.get() == raw.get()).then_some(known)
    }
}
