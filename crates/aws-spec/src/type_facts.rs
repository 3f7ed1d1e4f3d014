//! EC2's description of an instance type, and its capacity. Pure.

use machinist_domain::shape::{Capacity, GpuVendor};

use crate::ec2_names;

/// EC2's description of an instance type. Zero means unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeFacts {
    /// `InstanceType`, as `m6i.large`
    pub name: String,
    /// `DefaultVCpus`
    pub vcpus: u32,
    /// `SizeInMiB` of the memory
    pub memory_mib: u64,
    /// `SupportedArchitectures`, as `x86_64`, `arm64`, `i386`, `x86_64_mac`
    pub architectures: Vec<String>,
    /// `GpuInfo`, by model
    pub gpus: Vec<DeviceFacts>,
    /// `NeuronInfo`, `InferenceAcceleratorInfo`, `FpgaInfo` and `MediaAcceleratorInfo`, each device once
    pub accelerators: Vec<DeviceFacts>,
    /// `MaximumNetworkInterfaces` of the default network card, from which pods get their addresses
    pub interfaces: u32,
    /// `Ipv4AddressesPerInterface`
    pub addresses_per_interface: u32,
    /// `TotalSizeInGB` of the instance storage
    pub storage_gb: u64,
}

/// Devices of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    /// `Count`, or `LogicalGpuCount` of a fractional GPU
    pub count: u32,
    /// `Manufacturer`, as `NVIDIA`
    pub maker: String,
    /// `Name`, as `A100`
    pub model: String,
}

impl TypeFacts {
    /// The capacity of a node of this type.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            vcpus: self.vcpus,
            memory_mib: self.memory_mib,
            architecture: ec2_names::architecture(self.architectures.iter().map(String::as_str)),
            gpus: self.gpus.iter().map(|gpu| gpu.count).fold(0, u32::saturating_add),
            gpu_vendor: self.gpus.iter().find_map(vendor),
            interfaces: self.interfaces,
            addresses_per_interface: self.addresses_per_interface,
        }
    }
}

fn vendor(gpus: &DeviceFacts) -> Option<GpuVendor> {
    if gpus.count == 0 { None } else { ec2_names::gpu_vendor(&gpus.maker) }
}

#[cfg(test)]
mod tests {
    use machinist_domain::shape::Architecture;

    use super::*;

    fn gpu(count: u32, maker: &str) -> DeviceFacts {
        DeviceFacts { count, maker: maker.into(), model: String::new() }
    }

    #[test]
    fn numbers_are_carried_over() {
        let facts = TypeFacts {
            name: "m6i.large".into(),
            vcpus: 2,
            memory_mib: 8192,
            interfaces: 3,
            addresses_per_interface: 10,
            ..TypeFacts::default()
        };
        let expected = Capacity {
            vcpus: 2,
            memory_mib: 8192,
            architecture: Architecture::Amd64,
            gpus: 0,
            gpu_vendor: None,
            interfaces: 3,
            addresses_per_interface: 10,
        };
        assert_eq!(facts.capacity(), expected);
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
            let capacity = TypeFacts { gpus, ..TypeFacts::default() }.capacity();
            assert_eq!((capacity.gpus, capacity.gpu_vendor), (count, vendor));
        }
    }
}
