//! The instance types of the simulated cloud.

use machinist_domain::shape::{Architecture, Capacity, GpuVendor};

/// Every type: name, CPUs, memory in GiB, GPUs.
const TYPES: &[(&str, u32, u64, u32)] = &[
    ("sim.small", 2, 4, 0),
    ("sim.medium", 4, 16, 0),
    ("sim.large", 8, 32, 0),
    ("sim.xlarge", 16, 64, 0),
    ("sim.gpu", 8, 64, 1),
    ("sim.arm", 4, 16, 0),
];

pub const ZONES: [&str; 3] = ["a", "b", "c"];

pub fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, ..)| *name)
}

pub fn capacity(name: &str) -> Option<Capacity> {
    let (name, vcpus, memory_gib, gpus) = TYPES.iter().find(|known| known.0 == name)?;
    Some(Capacity {
        vcpus: *vcpus,
        memory_mib: memory_gib * 1024,
        architecture: if *name == "sim.arm" { Architecture::Arm64 } else { Architecture::Amd64 },
        gpus: *gpus,
        gpu_vendor: (*gpus > 0).then_some(GpuVendor::Nvidia),
        interfaces: 4,
        addresses_per_interface: 30,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_gives_something_and_others_do_not_exist() {
        assert!(names().all(|name| capacity(name).is_some_and(|capacity| capacity.vcpus > 0)));
        assert_eq!(capacity("m5.large"), None);
    }
}
