//! Requested and provided capacity of a Machine, in no cloud's terms.

use std::fmt;
use std::sync::Arc;

/// What a provider spec requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    pub instance_type: Arc<str>,
    pub region: Option<Arc<str>>,
    pub zone: Option<Arc<str>>,
    pub root_disk_gib: Option<u32>,
    /// The Secret with the credentials, in the object's namespace; `None` means the credentials of the process.
    pub credentials_secret: Option<Arc<str>>,
}

/// What an instance type provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    pub vcpus: u32,
    pub memory_mib: u64,
    pub architecture: Architecture,
    pub gpus: u32,
    /// The GPU vendor; `None` without a GPU or without a known resource name.
    pub gpu_vendor: Option<GpuVendor>,
    /// Number of network interfaces; 0 if unknown.
    pub interfaces: u32,
    /// IPv4 addresses per interface; 0 if unknown.
    pub addresses_per_interface: u32,
}

machinist_api::named_enum! {
    /// The architecture, as in the label `kubernetes.io/arch`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Architecture {
        Amd64 = "amd64",
        Arm64 = "arm64",
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A GPU vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GpuVendor {
    Nvidia,
    Amd,
    Habana,
}

impl GpuVendor {
    /// The extended resource of the vendor's device plugin.
    pub fn resource_name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia.com/gpu",
            Self::Amd => "amd.com/gpu",
            Self::Habana => "habana.ai/gaudi",
        }
    }
}
