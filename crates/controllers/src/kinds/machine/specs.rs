//! Provider specs. The Machines of a set share one, so each is stored and parsed once while a Machine refers to it.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use parking_lot::Mutex;
use serde_json::value::RawValue;

const SWEEP_AT: usize = 1024;

#[derive(Debug)]
pub struct ProviderSpec {
    pub raw: Arc<RawValue>,
    pub shape: Result<Shape, SpecError>,
}

pub(super) struct Specs {
    reader: Arc<dyn SpecHalf>,
    known: Mutex<HashMap<u64, Weak<ProviderSpec>>>,
}

impl Specs {
    pub(super) fn new(reader: Arc<dyn SpecHalf>) -> Self {
        Self { reader, known: Mutex::default() }
    }

    pub(super) fn intern(&self, raw: Box<RawValue>) -> Arc<ProviderSpec> {
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
