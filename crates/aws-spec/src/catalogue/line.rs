//! A line of the catalogue: one instance type, its fields separated by tabs.

use machinist_domain::shape::Architecture;

use crate::{Device, InstanceType};

/// `None` for comments and invalid lines.
pub(super) fn parse(line: &str) -> Option<InstanceType<'_>> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let name = next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
    Some(InstanceType {
        name: name.into(),
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
        gpus: parse_devices(next()?),
        accelerators: parse_devices(next()?),
    })
}

/// `count:maker:model`, joined by semicolons; `-` for none.
fn parse_devices(field: &str) -> Vec<Device<'_>> {
    let devices = field.split(';').filter_map(|device| {
        let (count, rest) = device.split_once(':')?;
        let (maker, model) = rest.split_once(':')?;
        Some(Device { count: count.parse().ok()?, maker: maker.into(), model: model.into() })
    });
    devices.collect()
}

pub(super) fn format(one: &InstanceType<'_>) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
        one.name,
        one.vcpus,
        one.memory_mib,
        one.architecture,
        one.interfaces,
        one.addresses_per_interface,
        one.storage_gb,
        format_devices(&one.gpus),
        format_devices(&one.accelerators),
    )
}

fn format_devices(devices: &[Device<'_>]) -> String {
    if devices.is_empty() {
        return "-".to_owned();
    }
    let format = |device: &Device<'_>| {
        format!("{}:{}:{}", device.count, plain(&device.maker), plain(&device.model))
    };
    devices.iter().map(format).collect::<Vec<_>>().join(";")
}

fn plain(text: &str) -> String {
    let plain = |letter: char| {
        if letter.is_control() || matches!(letter, ':' | ';') { ' ' } else { letter }
    };
    text.chars().map(plain).collect::<String>().trim().to_owned()
}
