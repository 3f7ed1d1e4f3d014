//! Instance types as tables and as data.

use machinist_aws_spec::{Device, InstanceType};
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
    pub(super) fn of(entry: &'a InstanceType<'_>) -> Self {
        Self {
            name: &entry.name,
            vcpus: entry.vcpus,
            memory_mib: entry.memory_mib,
            architecture: entry.architecture.as_str(),
            gpus: entry.gpus.iter().map(DeviceView::of).collect(),
            accelerators: entry.accelerators.iter().map(DeviceView::of).collect(),
            network_interfaces: entry.interfaces,
            addresses_per_interface: entry.addresses_per_interface,
            storage_gb: entry.storage_gb,
        }
    }
}

impl<'a> DeviceView<'a> {
    fn of(device: &'a Device<'_>) -> Self {
        Self { count: device.count, maker: &device.maker, model: &device.model }
    }
}

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
