//! One line of the catalogue.

use machinist_domain::shape::{Architecture, Capacity};

use crate::ec2_names;

/// An instance type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name.
    pub name: &'a str,
    /// The default number of virtual CPUs.
    pub vcpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Processor architecture.
    pub architecture: Architecture,
    /// The maximum number of network interfaces of its default card, 0 if unknown.
    pub interfaces: u32,
    /// The maximum number of IPv4 addresses per interface, 0 if unknown.
    pub addresses_per_interface: u32,
    /// Instance storage in GB.
    pub storage_gb: u64,
    gpus: &'a str,
    accelerators: &'a str,
}

/// Devices of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device<'a> {
    /// The number of devices.
    pub count: u32,
    /// The manufacturer.
    pub maker: &'a str,
    /// The model.
    pub model: &'a str,
}

impl<'a> Entry<'a> {
    /// `None` for comments and invalid lines.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        let name = next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
        Some(Self {
            name,
            vcpus: next()?.parse().ok()?,
            memory_mib: next()?.parse().ok()?,
            architecture: match next()? {
                "amd64" => Architecture::Amd64,
                "arm64" => Architecture::Arm64,
                _ => return None,
            },
            interfaces: next()?.parse().ok()?,
            addresses_per_interface: next()?.parse().ok()?,
            storage_gb: next()?.parse().ok()?,
            gpus: next()?,
            accelerators: next()?,
        })
    }

    /// GPUs.
    pub fn gpus(&self) -> impl Iterator<Item = Device<'a>> + use<'a> {
        devices(self.gpus)
    }

    /// Other accelerators: for inference, training and video, and FPGAs.
    pub fn accelerators(&self) -> impl Iterator<Item = Device<'a>> + use<'a> {
        devices(self.accelerators)
    }

    /// The capacity of a node of this type.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            vcpus: self.vcpus,
            memory_mib: self.memory_mib,
            architecture: self.architecture,
            gpus: self.gpus().map(|gpu| gpu.count).sum(),
            gpu_vendor: self.gpus().find_map(|gpu| ec2_names::gpu_vendor(gpu.maker)),
            interfaces: self.interfaces,
            addresses_per_interface: self.addresses_per_interface,
        }
    }
}

/// `count:maker:model`, joined by semicolons; `-` for none.
fn devices(field: &str) -> impl Iterator<Item = Device<'_>> {
    field.split(';').filter_map(|device| {
        let (count, rest) = device.split_once(':')?;
        let (maker, model) = rest.split_once(':')?;
        Some(Device { count: count.parse().ok()?, maker, model })
    })
}
