//! What a machine would be and give, in no cloud's terms.

use std::fmt;

/// What a provider spec asks for, as far as capacity goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The cloud's name for the size of machine.
    pub instance_type: Box<str>,
}

/// What a machine of some shape gives to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// GPUs.
    pub gpus: u32,
    /// Processor architecture.
    pub architecture: Architecture,
}

/// Processor architecture in Kubernetes' words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
