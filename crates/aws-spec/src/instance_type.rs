//! An instance type, as EC2 describes it, and its capacity.

use std::borrow::Cow;

use machinist_domain::shape::{Architecture, Capacity};

use crate::ec2_names;

/// An instance type. Zero means unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct InstanceType<'a> {
    pub name: Cow<'a, str>,
    pub vcpus: u32,
    pub memory_mib: u64,
    pub architecture: Architecture,
    /// The most network interfaces of the default network card, from which pods get their addresses.
    pub interfaces: u32,
    pub addresses_per_interface: u32,
    pub storage_gb: u64,
    pub gpus: Vec<Device<'a>>,
    /// For inference, training and video, and FPGAs; each device once.
    pub accelerators: Vec<Device<'a>>,
}

/// Devices of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "most names say it")]
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
            gpu_vendor: present.find_map(|gpu| ec2_names::gpu_vendor(&gpu.maker)),
            interfaces: self.interfaces,
            addresses_per_interface: self.addresses_per_interface,
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::shape::GpuVendor;

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
}
