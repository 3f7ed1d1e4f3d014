//! Converts EC2's names of architectures and GPU vendors.

use machinist_domain::shape::{Architecture, GpuVendor};

/// The first that Kubernetes supports, because old types list `i386` first; amd64 if there is none.
pub fn architecture<'a>(supported: impl IntoIterator<Item = &'a str>) -> Architecture {
    let known = |name: &str| match name {
        "x86_64" | "x86_64_mac" => Some(Architecture::Amd64),
        "arm64" | "arm64_mac" => Some(Architecture::Arm64),
        _ => None,
    };
    supported.into_iter().find_map(known).unwrap_or(Architecture::Amd64)
}

/// `None` without a known resource name.
pub(crate) fn gpu_vendor(manufacturer: &str) -> Option<GpuVendor> {
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
