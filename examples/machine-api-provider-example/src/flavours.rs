//! The sizes of guests that the hypervisor has, and their capacities. The annotator writes the capacity onto
//! MachineSets, so that cluster-autoscaler can scale them from zero.

use machinist_domain::shape::{Architecture, Capacity};

/// Name, CPUs and memory in GiB of each flavour.
const FLAVOURS: &[(&str, u32, u64)] = &[("small", 2, 4), ("large", 8, 32)];

/// The names of all flavours.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FLAVOURS.iter().map(|(name, ..)| *name)
}

/// The capacity of a flavour; `None` if there is no such flavour.
pub(crate) fn capacity(name: &str) -> Option<Capacity> {
    let (_, vcpus, memory_gib) = FLAVOURS.iter().find(|flavour| flavour.0 == name)?;
    Some(Capacity {
        vcpus: *vcpus,
        memory_mib: memory_gib * 1024,
        architecture: Architecture::Amd64,
        gpus: 0,
        gpu_vendor: None,
        interfaces: 0,
        addresses_per_interface: 0,
    })
}
