//! An instance type, as EC2 describes it, and its capacity.

use std::borrow::Cow;

use machinist_domain::shape::{Architecture, Capacity, GpuVendor};
use serde::Serialize;

/// An instance type. Zero means unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceType<'a> {
    pub name: Cow<'a, str>,
    pub vcpus: u32,
    #[serde(rename = "memoryMiB")]
    pub memory_mib: u64,
    pub architecture: Architecture,
    pub gpus: Vec<Device<'a>>,
    /// For inference, training and video, and FPGAs; each device once.
    pub accelerators: Vec<Device<'a>>,
    /// The most network interfaces of the default network card, from which pods get their addresses.
    #[serde(rename = "networkInterfaces")]
    pub interfaces: u32,
    pub addresses_per_interface: u32,
    #[serde(rename = "storageGB")]
    pub storage_gb: u64,
}

/// Devices of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device<'a> {
    /// The number of devices; of a fractional GPU, the logical ones.
    pub count: u32,
    pub maker: Cow<'a, str>,
    pub model: Cow<'a, str>,
}

impl InstanceType<'_> {
    /// The capacity of a node of this type.
    pub fn capacity(&self) -> Capacity {
        let mut present = self.gpus.iter().filter(|gpu| gpu.count > 0);
        Capacity {
            vcpus: self.vcpus,
            memory_mib: self.memory_mib,
            architecture: self.architecture,
            gpus: self.gpus.iter().map(|gpu| gpu.count).fold(0, u32::saturating_add),
            gpu_vendor: present.find_map(|gpu| gpu_vendor(&gpu.maker)),
            interfaces: self.interfaces,
            addresses_per_interface: self.addresses_per_interface,
        }
    }
}

/// The first architecture that Kubernetes supports, because old types list `i386` first; amd64 if there is none.
pub fn architecture<'a>(supported: impl IntoIterator<Item = &'a str>) -> Architecture {
    let known = |name: &str| match name {
        "x86_64" | "x86_64_mac" => Some(Architecture::Amd64),
        "arm64" | "arm64_mac" => Some(Architecture::Arm64),
        _ => None,
    };
    supported.into_iter().find_map(known).unwrap_or(Architecture::Amd64)
}

/// `None` without a known resource name.
fn gpu_vendor(manufacturer: &str) -> Option<GpuVendor> {
    match manufacturer.to_ascii_lowercase().as_str() {
        "nvidia" => Some(GpuVendor::Nvidia),
        "amd" => Some(GpuVendor::Amd),
        "habana" => Some(GpuVendor::Habana),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::tests::parsed;

    fn gpu(count: u32, maker: &str) -> Device<'_> {
        Device { count, maker: maker.into(), model: "".into() }
    }

    #[test]
    fn numbers_are_carried_over() {
        let expected = Capacity {
            vcpus: 2,
            memory_mib: 8192,
            architecture: Architecture::Amd64,
            gpus: 0,
            gpu_vendor: None,
            interfaces: 3,
            addresses_per_interface: 10,
        };
        assert_eq!(parsed("m6i.large\t2\t8192\tamd64\t3\t10\t0\t-\t-").capacity(), expected);
    }

    #[test]
    fn gpus_are_summed_and_named_by_their_maker() {
        let cases = [
            (vec![gpu(8, "NVIDIA")], 8, Some(GpuVendor::Nvidia)),
            (vec![gpu(1, "AMD"), gpu(3, "AMD")], 4, Some(GpuVendor::Amd)),
            (vec![gpu(8, "Habana")], 8, Some(GpuVendor::Habana)),
            (vec![gpu(1, "Unknown")], 1, None),
            (vec![gpu(0, "NVIDIA")], 0, None),
            (vec![gpu(u32::MAX, "NVIDIA"), gpu(1, "NVIDIA")], u32::MAX, Some(GpuVendor::Nvidia)),
            (vec![], 0, None),
        ];
        for (gpus, count, vendor) in cases {
            let plain = parsed("x\t0\t0\tamd64\t0\t0\t0\t-\t-");
            let capacity = InstanceType { gpus, ..plain }.capacity();
            assert_eq!((capacity.gpus, capacity.gpu_vendor), (count, vendor));
        }
    }

    #[test]
    fn architectures() {
        let cases: [(&[&str], Architecture); 8] = [
            (&["x86_64"], Architecture::Amd64),
            (&["i386", "x86_64"], Architecture::Amd64),
            (&["x86_64_mac"], Architecture::Amd64),
            (&["arm64"], Architecture::Arm64),
            (&["arm64_mac"], Architecture::Arm64),
            (&["wrong-arch"], Architecture::Amd64),
            (&["wrong-arch", "arm64"], Architecture::Arm64),
            (&[], Architecture::Amd64),
        ];
        for (supported, expected) in cases {
            assert_eq!(architecture(supported.iter().copied()), expected, "{supported:?}");
        }
    }

    #[test]
    fn makers_of_gpus() {
        assert_eq!(gpu_vendor("NVIDIA"), Some(GpuVendor::Nvidia));
        assert_eq!(gpu_vendor("AMD"), Some(GpuVendor::Amd));
        assert_eq!(gpu_vendor("Habana"), Some(GpuVendor::Habana));
        assert_eq!(gpu_vendor("Xilinx"), None);
    }
}
