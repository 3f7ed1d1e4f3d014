//! Instance types as tables and as data.

use machinist_aws_spec::catalogue::{Device, Entry};
use serde::Serialize;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View<'a> {
    name: &'a str,
    vcpus: u32,
    #[serde(rename = "memoryMiB")]
    memory_mib: u64,
    architecture: &'static str,
    gpus: Vec<DeviceView<'a>>,
    accelerators: Vec<DeviceView<'a>>,
    network_interfaces: u32,
    addresses_per_interface: u32,
    #[serde(rename = "storageGB")]
    storage_gb: u64,
}

#[derive(Debug, Serialize)]
struct DeviceView<'a> {
    count: u32,
    maker: &'a str,
    model: &'a str,
}

impl<'a> View<'a> {
    pub(super) fn of(entry: &Entry<'a>) -> Self {
        let view = |Device { count, maker, model }| DeviceView { count, maker, model };
        Self {
            name: entry.name,
            vcpus: entry.vcpus,
            memory_mib: entry.memory_mib,
            architecture: entry.architecture.as_str(),
            gpus: entry.gpus().map(view).collect(),
            accelerators: entry.accelerators().map(view).collect(),
            network_interfaces: entry.interfaces,
            addresses_per_interface: entry.addresses_per_interface,
            storage_gb: entry.storage_gb,
        }
    }
}

pub(super) fn table(entries: &[Entry<'_>], wide: bool) -> String {
    let mut headings = vec!["NAME", "VCPUS", "MEMORY", "ARCH", "GPUS"];
    if wide {
        headings.extend(["ACCELERATORS", "INTERFACES", "ADDRESSES", "STORAGE"]);
    }
    crate::verbs::table::table(&headings, entries.iter().map(|entry| row(entry, wide)).collect())
}

fn row(entry: &Entry<'_>, wide: bool) -> Vec<String> {
    let mut cells = vec![
        entry.name.to_owned(),
        entry.vcpus.to_string(),
        format!("{}Mi", entry.memory_mib),
        entry.architecture.to_string(),
        devices(entry.gpus()),
    ];
    if wide {
        cells.extend([
            devices(entry.accelerators()),
            entry.interfaces.to_string(),
            entry.addresses_per_interface.to_string(),
            if entry.storage_gb == 0 { none() } else { format!("{}GB", entry.storage_gb) },
        ]);
    }
    cells
}

fn devices<'a>(devices: impl Iterator<Item = Device<'a>>) -> String {
    let devices: Vec<_> = devices
        .map(|device| format!("{}x {} {}", device.count, device.maker, device.model))
        .collect();
    if devices.is_empty() { none() } else { devices.join(", ") }
}

fn none() -> String {
    "-".to_owned()
}
