//! MachineSets as the caches store them. Of the provider spec only its shape is stored, or its error for the
//! controllers to report. `S` is what a process stores beyond that: [`MachineSetState`] where the MachineSet controller
//! runs, [`NoState`] where only the annotator does, to save memory.

mod state;

use std::sync::Arc;

use machinist_api::names::{AUTHORITY_MACHINE_API, CONDITION_PAUSED, STATUS_TRUE};
use machinist_api::resource::{MACHINE_SETS, Resource};
use machinist_api::wire;
use machinist_domain::capacity_annotations::Current;
use machinist_domain::meta::Meta;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::{Kind, Stored};

pub(crate) use self::state::{
    DeletePolicy, MachineSetSpec, MachineSetState, MachineSetStatus, Template, UnknownDeletePolicy,
};
pub use self::state::{NoState, State};
use super::interner::{Interner, name};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSet<S = Arc<MachineSetState>> {
    pub meta: Meta,
    /// The provider whose spec the template has; `None` if no provider reads it.
    pub provider: Option<&'static str>,
    pub shape: Result<Arc<Shape>, Box<SpecError>>,
    pub annotations: Arc<Current>,
    /// Whether another machine API manages it, or neither during a migration.
    pub managed_elsewhere: bool,
    /// Whether its status names the API that manages it, or says that it is paused.
    pub names_authority: bool,
    pub state: S,
}

impl<S: State> Stored for MachineSet<S> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

#[derive(Debug, Clone)]
pub struct MachineSets<S = Arc<MachineSetState>> {
    specs: Arc<dyn SpecHalf>,
    /// MachineSets of one type in one zone have equal shapes and equal capacity annotations.
    shapes: Arc<Interner<Shape>>,
    annotations: Arc<Interner<Current>>,
    state: std::marker::PhantomData<fn() -> S>,
}

impl<S: State> MachineSets<S> {
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        Self {
            specs,
            shapes: Arc::default(),
            annotations: Arc::default(),
            state: std::marker::PhantomData,
        }
    }

    fn intern_shape(&self, mut shape: Shape) -> Arc<Shape> {
        let Shape { instance_type, region, zone, credentials_secret, root_disk_gib: _ } =
            &mut shape;
        let texts = [region, zone, credentials_secret].into_iter().flatten();
        for text in texts.chain([instance_type]) {
            *text = name(&**text);
        }
        self.shapes.intern(Arc::new(shape))
    }
}

impl<S: State> Kind for MachineSets<S> {
    type Wire = wire::MachineSet;
    type Stored = MachineSet<S>;
    const RESOURCE: Resource = MACHINE_SETS;

    fn project(&self, wire: wire::MachineSet) -> MachineSet<S> {
        let mut meta = Meta::of(&wire.metadata);
        meta.key.namespace = name(&meta.key.namespace);
        let raw = wire.spec.template.spec.parts.provider_spec.value.as_deref();
        let shape = raw.map_or(Err(SpecError::Missing), |raw| self.specs.shape(raw));
        let current = Current::read(|name| wire.metadata.annotations.get(name).map(String::as_str));
        let (managed_elsewhere, names_authority) = authority(&wire.status);
        MachineSet {
            meta,
            provider: raw.and_then(|raw| self.specs.provider(raw)),
            shape: shape.map(|shape| self.intern_shape(shape)).map_err(Box::new),
            annotations: self.annotations.intern(Arc::new(current)),
            managed_elsewhere,
            names_authority,
            state: S::read(wire),
        }
    }
}

/// `managed_elsewhere` and `names_authority`.
fn authority(status: &wire::MachineSetStatus) -> (bool, bool) {
    let mut conditions = status.conditions.iter();
    let paused = conditions.any(|one| one.kind == CONDITION_PAUSED && one.status == STATUS_TRUE);
    let api = status.authoritative_api.as_deref().unwrap_or_default();
    (paused || api != AUTHORITY_MACHINE_API, paused || !api.is_empty())
}

#[cfg(test)]
mod tests;
