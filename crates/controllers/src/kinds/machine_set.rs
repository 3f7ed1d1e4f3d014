//! MachineSets as the caches store them.
//!
//! The provider spec is parsed when the object arrives and only the result is stored; a spec that cannot be parsed is
//! stored as an error for the controllers to report. `S` is what a process stores beyond that: [`MachineSetState`]
//! where the MachineSet controller runs, [`NoState`] where only the annotator does, to save memory.

mod state;

use std::sync::Arc;

use machinist_api::resource::{MACHINE_SETS, Resource};
use machinist_api::wire;
use machinist_domain::capacity_annotations::Current;
use machinist_domain::meta::Meta;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::{Kind, Stored};

pub use self::state::{
    DeletePolicy, MachineSetSpec, MachineSetState, MachineSetStatus, NoState, State, Template,
    UnknownDeletePolicy,
};
use super::interner::Interner;

/// A MachineSet in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSet<S = Arc<MachineSetState>> {
    /// Identity and version.
    pub meta: Meta,
    /// The provider whose spec the template has; `None` if no provider reads it.
    pub provider: Option<&'static str>,
    /// What the provider spec asks for.
    pub shape: Result<Arc<Shape>, Box<SpecError>>,
    /// The capacity annotations.
    pub annotations: Arc<Current>,
    /// Which machine API manages it, from its status.
    pub authority: Authority,
    /// The rest of spec and status, if it is stored.
    pub state: S,
}

/// Which of OpenShift's two machine APIs manages an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// This one, and it is not paused.
    Here,
    /// The other one, or neither during a migration.
    Elsewhere,
}

impl<S: State> Stored for MachineSet<S> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

/// Parses MachineSets with the providers' spec halves.
pub struct MachineSets<S = Arc<MachineSetState>> {
    specs: Arc<dyn SpecHalf>,
    names: Arc<Interner<str>>,
    /// MachineSets of one type in one zone have equal shapes and equal capacity annotations.
    shapes: Arc<Interner<Shape>>,
    annotations: Arc<Interner<Current>>,
    state: std::marker::PhantomData<fn() -> S>,
}

impl<S> Clone for MachineSets<S> {
    fn clone(&self) -> Self {
        Self {
            specs: Arc::clone(&self.specs),
            names: Arc::clone(&self.names),
            shapes: Arc::clone(&self.shapes),
            annotations: Arc::clone(&self.annotations),
            state: self.state,
        }
    }
}

impl<S> std::fmt::Debug for MachineSets<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MachineSets")
    }
}

impl<S: State> MachineSets<S> {
    /// MachineSets whose provider specs `specs` parses.
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        Self {
            specs,
            names: Interner::shared(),
            shapes: Arc::default(),
            annotations: Arc::default(),
            state: std::marker::PhantomData,
        }
    }

    fn intern_shape(&self, mut shape: Shape) -> Arc<Shape> {
        let Shape { instance_type, region, zone, credentials_secret, root_disk_gib: _ } =
            &mut shape;
        let names = [region, zone, credentials_secret].into_iter().flatten();
        for name in names.chain([instance_type]) {
            *name = self.names.name(&**name);
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
        meta.key.namespace = self.names.name(&meta.key.namespace);
        let raw = wire.spec.template.spec.provider_spec.value.as_deref();
        let shape = raw.map_or(Err(SpecError::Missing), |raw| self.specs.shape(raw));
        let current = Current::read(|name| wire.metadata.annotations.get(name).map(String::as_str));
        MachineSet {
            meta,
            provider: raw.and_then(|raw| self.specs.provider(raw)),
            shape: shape.map(|shape| self.intern_shape(shape)).map_err(Box::new),
            annotations: self.annotations.intern(Arc::new(current)),
            authority: authority(&wire.status),
            state: S::read(wire, &self.names),
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

#[cfg(test)]
mod tests;
