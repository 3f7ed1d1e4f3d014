//! What a machine gives to a cluster, from what EC2 says about its type. Pure.

use machinist_domain::shape::{Architecture, Capacity, GpuVendor};

use crate::facts::{Device, TypeFacts};

impl From<&TypeFacts> for Capacity {
    fn from(facts: &TypeFacts) -> Self {
        Self {
            vcpus: facts.vcpus,
            memory_mib: facts.memory_mib,
            architecture: architecture(&facts.architectures),
            gpus: facts.gpus.iter().map(|gpu| gpu.count).fold(0, u32::saturating_add),
            gpu_vendor: facts.gpus.iter().find_map(vendor),
            interfaces: facts.max_interfaces,
            addresses_per_interface: facts.ipv4_per_interface,
        }
    }
}

/// The first architecture that Kubernetes has a word for (old types list `i386` first); where EC2 says nothing that we know it is amd64,
/// as it was before there was anything else.
fn architecture(names: &[String]) -> Architecture {
    let known = |name: &String| match name.as_str() {
        "x86_64" | "x86_64_mac" => Some(Architecture::Amd64),
        "arm64" | "arm64_mac" => Some(Architecture::Arm64),
        _ => None,
    };
    names.iter().find_map(known).unwrap_or(Architecture::Amd64)
}

fn vendor(gpu: &Device) -> Option<GpuVendor> {
    if gpu.count == 0 {
        return None;
    }
    match gpu.manufacturer.to_ascii_lowercase().as_str() {
        "nvidia" => Some(GpuVendor::Nvidia),
        "amd" => Some(GpuVendor::Amd),
        "habana" => Some(GpuVendor::Habana),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(count: u32, manufacturer: &str) -> Device {
        Device { count, manufacturer: manufacturer.into(), name: String::new() }
    }

    #[test]
    fn numbers_are_carried_over() {
        let facts = TypeFacts {
            name: "m6i.large".into(),
            vcpus: 2,
            memory_mib: 8192,
            max_interfaces: 3,
            ipv4_per_interface: 10,
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
        assert_eq!(Capacity::from(&facts), expected);
    }

    #[test]
    fn architectures_in_kubernetes_words() {
        let cases: [(&[&str], Architecture); 8] = [
            (&["x86_64"], Architecture::Amd64),
            (&["i386", "x86_64"], Architecture::Amd64),
            (&["arm64"], Architecture::Arm64),
            (&["x86_64_mac"], Architecture::Amd64),
            (&["arm64_mac"], Architecture::Arm64),
            (&[], Architecture::Amd64),
            (&["wrong-arch"], Architecture::Amd64),
            (&["wrong-arch", "arm64"], Architecture::Arm64),
        ];
        for (names, expected) in cases {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(architecture(&names), expected, "{names:?}");
        }
    }

    #[test]
    fn gpus_are_summed_and_named_by_their_maker() {
        let cases = [
            (vec![gpu(8, "NVIDIA")], 8, Some(GpuVendor::Nvidia)),
            (vec![gpu(1, "AMD"), gpu(3, "AMD")], 4, Some(GpuVendor::Amd)),
            (vec![gpu(8, "Habana")], 8, Some(GpuVendor::Habana)),
            (vec![gpu(1, "Somebody")], 1, None),
            (vec![gpu(0, "NVIDIA")], 0, None),
            (vec![gpu(u32::MAX, "NVIDIA"), gpu(1, "NVIDIA")], u32::MAX, Some(GpuVendor::Nvidia)),
            (vec![], 0, None),
        ];
        for (gpus, count, vendor) in cases {
            let capacity = Capacity::from(&TypeFacts { gpus, ..TypeFacts::default() });
            assert_eq!((capacity.gpus, capacity.gpu_vendor), (count, vendor));
        }
    }
}
