//! What a machine would be and give, in no cloud's terms.

use std::fmt;
use std::sync::Arc;

/// What a provider spec asks for, as far as capacity goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The cloud's name for the size of machine.
    pub instance_type: Arc<str>,
    /// Where it would run, if the spec says so.
    pub region: Option<Arc<str>>,
    /// Where in the region, if the spec says so.
    pub zone: Option<Arc<str>>,
    /// Size of the root volume in GiB, if the spec says so.
    pub root_disk_gib: Option<u32>,
    /// The Secret with the credentials, in the object's own namespace; `None` means those of the process.
    pub credentials_secret: Option<Arc<str>>,
}

/// What a machine of some type gives to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Processor architecture.
    pub architecture: Architecture,
    /// GPUs, of all kinds together.
    pub gpus: u32,
    /// Who makes the GPUs; `None` where there are none, or where nobody knows a resource name for them.
    pub gpu_vendor: Option<GpuVendor>,
    /// How many network interfaces it can have, 0 where that is not known.
    pub interfaces: u32,
    /// How many IPv4 addresses each interface can have, 0 where that is not known.
    pub addresses_per_interface: u32,
}

/// Processor architecture in Kubernetes' words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// 64-bit ARM.
    Arm64,
}

impl Architecture {
    /// The value of the label `kubernetes.io/arch`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who makes a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GpuVendor {
    /// NVIDIA.
    Nvidia,
    /// AMD.
    Amd,
    /// Habana (Gaudi).
    Habana,
}

impl GpuVendor {
    /// The resource that the vendor's device plugin gives to a node.
    pub fn resource_name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia.com/gpu",
            Self::Amd => "amd.com/gpu",
            Self::Habana => "habana.ai/gaudi",
        }
    }
}
