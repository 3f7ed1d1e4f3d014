//! A small table of instance types, so that the annotator has something true to say before it can ask EC2.
//!
//! The values are EC2's own: default vCPUs, memory in MiB, GPUs, architecture.

use machinist_domain::shape::Architecture::{self, Amd64, Arm64};
use machinist_domain::shape::{Capacity, GpuVendor};

/// Name, vCPUs, MiB, GPUs, architecture; sorted by name.
const TYPES: &[(&str, u32, u64, u32, Architecture)] = &[
    ("a1.2xlarge", 8, 16_384, 0, Arm64),
    ("c6i.2xlarge", 8, 16_384, 0, Amd64),
    ("c6i.4xlarge", 16, 32_768, 0, Amd64),
    ("c6i.large", 2, 4_096, 0, Amd64),
    ("c6i.xlarge", 4, 8_192, 0, Amd64),
    ("c7g.2xlarge", 8, 16_384, 0, Arm64),
    ("c7g.large", 2, 4_096, 0, Arm64),
    ("c7g.xlarge", 4, 8_192, 0, Arm64),
    ("g4dn.12xlarge", 48, 196_608, 4, Amd64),
    ("g4dn.xlarge", 4, 16_384, 1, Amd64),
    ("g5.xlarge", 4, 16_384, 1, Amd64),
    ("m5.2xlarge", 8, 32_768, 0, Amd64),
    ("m5.4xlarge", 16, 65_536, 0, Amd64),
    ("m5.large", 2, 8_192, 0, Amd64),
    ("m5.xlarge", 4, 16_384, 0, Amd64),
    ("m6g.4xlarge", 16, 65_536, 0, Arm64),
    ("m6g.large", 2, 8_192, 0, Arm64),
    ("m6g.xlarge", 4, 16_384, 0, Arm64),
    ("m6i.2xlarge", 8, 32_768, 0, Amd64),
    ("m6i.4xlarge", 16, 65_536, 0, Amd64),
    ("m6i.8xlarge", 32, 131_072, 0, Amd64),
    ("m6i.large", 2, 8_192, 0, Amd64),
    ("m6i.xlarge", 4, 16_384, 0, Amd64),
    ("m7g.large", 2, 8_192, 0, Arm64),
    ("m7i.large", 2, 8_192, 0, Amd64),
    ("p2.16xlarge", 64, 749_568, 16, Amd64),
    ("p3.2xlarge", 8, 62_464, 1, Amd64),
    ("p4d.24xlarge", 96, 1_179_648, 8, Amd64),
    ("r6i.2xlarge", 8, 65_536, 0, Amd64),
    ("r6i.large", 2, 16_384, 0, Amd64),
    ("r6i.xlarge", 4, 32_768, 0, Amd64),
    ("t3.large", 2, 8_192, 0, Amd64),
    ("t3.medium", 2, 4_096, 0, Amd64),
    ("t3.xlarge", 4, 16_384, 0, Amd64),
    ("t4g.large", 2, 8_192, 0, Arm64),
];

/// What a machine of this type gives, if it is in the table.
pub fn built_in(instance_type: &str) -> Option<Capacity> {
    let at = TYPES.binary_search_by_key(&instance_type, |row| row.0).ok()?;
    let (_, vcpus, memory_mib, gpus, architecture) = TYPES[at];
    Some(Capacity {
        vcpus,
        memory_mib,
        architecture,
        gpus,
        gpu_vendor: (gpus > 0).then_some(GpuVendor::Nvidia),
        interfaces: 0,
        addresses_per_interface: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_row_is_found() {
        assert!(TYPES.is_sorted_by_key(|row| row.0));
        for (name, vcpus, ..) in TYPES {
            assert_eq!(built_in(name).map(|capacity| capacity.vcpus), Some(*vcpus), "{name}");
        }
    }

    #[test]
    fn an_unknown_type_is_unknown() {
        assert_eq!(built_in("m99.mega"), None);
    }

    #[test]
    fn graviton_is_arm() {
        assert_eq!(built_in("a1.2xlarge").map(|capacity| capacity.architecture), Some(Arm64));
    }
}
