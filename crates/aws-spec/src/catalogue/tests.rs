use machinist_domain::shape::{Architecture, GpuVendor};
use proptest::prelude::*;

use super::*;
use crate::Device;

pub(crate) fn parsed(line: &str) -> InstanceType<'_> {
    line::parse(line).unwrap_or_else(|| panic!("cannot be read: {line}"))
}

fn known(name: &str) -> InstanceType<'static> {
    lookup(name).unwrap_or_else(|| panic!("{name} is not in the catalogue"))
}

#[test]
fn every_line_is_an_entry_and_is_found() {
    let lines: Vec<_> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() >= 1395, "{} types", lines.len());
    for line in lines {
        let entry = parsed(line);
        assert_eq!(lookup(&entry.name).as_ref(), Some(&entry));
        assert!(entry.vcpus > 0 && entry.memory_mib > 0, "{line}");
        assert!(entry.interfaces > 0 && entry.addresses_per_interface > 0, "{line}");
    }
}

#[test]
fn the_file_is_sorted_small_and_just_what_the_writer_writes() {
    assert!(entries().map(|entry| entry.name).is_sorted());
    assert!(TEXT.len() <= 250 * 1024, "{} bytes", TEXT.len());
    assert!(write(&[]) == TEXT, "`make catalogue` would change the file without asking anybody");
}

#[test]
fn known_types_have_ec2s_values() {
    let cases = [
        ("m6i.xlarge", 4, 16_384, Architecture::Amd64, 0, 58),
        ("m6g.4xlarge", 16, 65_536, Architecture::Arm64, 0, 234),
        ("a1.2xlarge", 8, 16_384, Architecture::Arm64, 0, 58),
        ("p4d.24xlarge", 96, 1_179_648, Architecture::Amd64, 8, 737),
        ("p2.16xlarge", 64, 749_568, Architecture::Amd64, 16, 234),
        ("g6e.48xlarge", 192, 1_572_864, Architecture::Amd64, 8, 492),
        ("t3.medium", 2, 4_096, Architecture::Amd64, 0, 17),
    ];
    for (name, vcpus, memory_mib, architecture, gpus, pods) in cases {
        let capacity = capacity(name).unwrap();
        assert_eq!(
            (capacity.vcpus, capacity.memory_mib, capacity.architecture, capacity.gpus),
            (vcpus, memory_mib, architecture, gpus),
            "{name}"
        );
        // AWS publishes this number for each type.
        let by_addresses = capacity.interfaces * (capacity.addresses_per_interface - 1) + 2;
        assert_eq!(by_addresses, pods, "{name}");
    }
}

#[test]
fn architecture_of_graviton_and_mac_types() {
    for graviton in ["t4g.nano", "c7g.metal", "im4gn.large", "x8g.48xlarge", "g5g.xlarge"] {
        assert_eq!(known(graviton).architecture, Architecture::Arm64, "{graviton}");
    }
    assert_eq!(known("mac1.metal").architecture, Architecture::Amd64);
    assert_eq!(known("mac2.metal").architecture, Architecture::Arm64);
    assert_eq!(known("mac-m4pro.metal").architecture, Architecture::Arm64);
}

#[test]
fn devices_have_their_makers() {
    let vendor = |name: &str| known(name).capacity().gpu_vendor;
    assert_eq!(vendor("g4dn.xlarge"), Some(GpuVendor::Nvidia));
    assert_eq!(vendor("g4ad.xlarge"), Some(GpuVendor::Amd));
    assert_eq!(vendor("dl1.24xlarge"), Some(GpuVendor::Habana));
    assert_eq!(vendor("m6i.large"), None);
    // A fractional GPU is one device for the node.
    assert_eq!(known("g6f.large").capacity().gpus, 1);

    let one = |name: &str| known(name).accelerators[0].clone();
    let inferentia = Device { count: 1, maker: "Amazon".into(), model: "Inferentia".into() };
    assert_eq!(one("inf1.xlarge"), inferentia);
    assert_eq!(one("f1.2xlarge").maker, "Xilinx");
    assert_eq!(known("i3.large").storage_gb, 475);
}

#[test]
fn an_unknown_type_is_unknown() {
    for name in ["", "#", "m99.mega", "m6i", "m6i.xlarge ", "m6i.xlarge\t4", "zzz", "\n"] {
        assert_eq!(lookup(name), None, "{name:?}");
    }
}

fn device() -> impl Strategy<Value = Device<'static>> {
    (0..9_u32, ".{0,6}", ".{0,6}").prop_map(|(count, maker, model)| Device {
        count,
        maker: maker.into(),
        model: model.into(),
    })
}

proptest! {
    /// Whatever EC2 lists, the file stays searchable and keeps all known types.
    #[test]
    fn any_list_generates_a_valid_file(
        name in "[ -~\t\n]{0,12}",
        vcpus in any::<u32>(),
        gpus in proptest::collection::vec(device(), 0..3),
    ) {
        let plain = parsed("x\t0\t0\tamd64\t0\t0\t0\t-\t-");
        let listed = InstanceType { name: name.clone().into(), vcpus, gpus, ..plain };
        let text = write(std::slice::from_ref(&listed));
        let names: Vec<_> =
            text.lines().filter_map(line::parse).map(|entry| entry.name).collect();
        prop_assert!(names.is_sorted());
        prop_assert!(names.len() >= entries().count());
        prop_assert!(find(&text, "m6i.large").is_some());
        if let Some(entry) = find(&text, &name).and_then(line::parse) {
            prop_assert_eq!((&*entry.name, entry.vcpus), (name.as_str(), vcpus));
            prop_assert_eq!(entry.gpus.len(), listed.gpus.len());
        }
    }

    #[test]
    fn lookup_of_any_name_is_safe(name in ".{0,20}", line in ".{0,60}") {
        lookup(&name);
        find(&line, &name);
        line::parse(&line);
    }
}
