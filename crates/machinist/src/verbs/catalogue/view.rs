use machinist_aws_spec::{Device, InstanceType};

pub(super) fn table(entries: &[InstanceType<'_>], wide: bool) -> String {
    let mut headings = vec!["NAME", "VCPUS", "MEMORY", "ARCH", "GPUS"];
    if wide {
        headings.extend(["ACCELERATORS", "INTERFACES", "ADDRESSES", "STORAGE"]);
    }
    crate::verbs::table::table(&headings, entries.iter().map(|entry| row(entry, wide)).collect())
}

fn row(entry: &InstanceType<'_>, wide: bool) -> Vec<String> {
    let mut cells = vec![
        entry.name.to_string(),
        entry.vcpus.to_string(),
        format!("{}Mi", entry.memory_mib),
        entry.architecture.to_string(),
        devices(&entry.gpus),
    ];
    if wide {
        cells.extend([
            devices(&entry.accelerators),
            entry.interfaces.to_string(),
            entry.addresses_per_interface.to_string(),
            if entry.storage_gb == 0 { none() } else { format!("{}GB", entry.storage_gb) },
        ]);
    }
    cells
}

fn devices(devices: &[Device<'_>]) -> String {
    let devices: Vec<_> = devices
        .iter()
        .map(|device| format!("{}x {} {}", device.count, device.maker, device.model))
        .collect();
    if devices.is_empty() { none() } else { devices.join(", ") }
}

fn none() -> String {
    "-".to_owned()
}
