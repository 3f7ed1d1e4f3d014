//! MachineSets as the caches store them. `S` is what a process stores beyond what the annotator reads:
//! [`MachineSetState`] where the MachineSet controller runs, [`NoState`] where only the annotator does, to save memory.

mod state;

use std::sync::Arc;

use machinist_api::names::{AUTHORITY_MACHINE_API, CONDITION_PAUSED, STATUS_TRUE};
use machinist_api::resource::{MACHINE_SETS, Resource};
use machinist_api::wire;
use machinist_domain::meta::Meta;
use machinist_provider::spec::SpecHalf;
use machinist_runtime::cache::kind::{Kind, Stored};

pub(crate) use self::state::{
    DeletePolicy, MachineSetSpec, MachineSetState, MachineSetStatus, Template, UnknownDeletePolicy,
};
pub use self::state::{NoState, State};
use super::interner::name;
use super::scalable::{AsScalable, Reader, Scalable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSet<S = Arc<MachineSetState>> {
    pub meta: Meta,
    pub scalable: Scalable,
    pub state: S,
}

impl<S: State> Stored for MachineSet<S> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

impl<S: State> AsScalable for MachineSet<S> {
    fn scalable(&self) -> &Scalable {
        &self.scalable
    }
}

#[derive(Debug, Clone)]
pub struct MachineSets<S = Arc<MachineSetState>> {
    reader: Reader,
    state: std::marker::PhantomData<fn() -> S>,
}

impl<S: State> MachineSets<S> {
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        Self { reader: Reader::new(specs), state: std::marker::PhantomData }
    }
}

impl<S: State> Kind for MachineSets<S> {
    type Wire = wire::MachineSet;
    type Stored = MachineSet<S>;
    const RESOURCE: Resource = MACHINE_SETS;

    fn project(&self, wire: wire::MachineSet) -> MachineSet<S> {
        let mut meta = Meta::of(&wire.metadata);
        meta.key.namespace = name(&meta.key.namespace);
        let (managed_elsewhere, names_authority) = authority(&wire.status);
        let scalable = self.reader.read(&wire.metadata, &wire.spec.template);
        MachineSet {
            meta,
            scalable: Scalable { managed_elsewhere, names_authority, ..scalable },
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
