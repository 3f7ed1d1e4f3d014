//! Makes the catalogue's file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::entry::{Device, Entry};
use crate::{DeviceFacts, TypeFacts, ec2_words};

const HEADER: &str = "\
# Instance types of EC2, sorted by name; written by `make catalogue`, not by hand. A type that EC2 no longer lists stays.
# name\tvCPUs\tMiB\tarchitecture\tinterfaces\taddresses\tdisk GB\tGPUs\taccelerators
";

/// The catalogue's file with what EC2 lists now, and what else it had before.
pub fn write(listed: &[TypeFacts]) -> String {
    let before = super::entries().map(|entry| (entry.name, line_of_entry(&entry)));
    let listed = listed.iter().filter(|facts| is_name(&facts.name));
    let now = listed.map(|facts| (facts.name.as_str(), line_of_facts(facts)));
    let lines: BTreeMap<&str, String> = before.chain(now).collect();
    let mut text = HEADER.to_owned();
    text.extend(lines.into_values());
    text
}

/// Names are looked up by comparing bytes up to the first tab, and `#` begins a comment.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()) && !name.starts_with('#')
}

fn line_of_facts(facts: &TypeFacts) -> String {
    let architecture =
        ec2_words::architecture(facts.architectures.iter().map(String::as_str)).as_str();
    let devices = |devices: &[DeviceFacts]| {
        field(devices.iter().map(|device| Device {
            count: device.count,
            maker: &device.maker,
            model: &device.model,
        }))
    };
    format!(
        "{}\t{}\t{}\t{architecture}\t{}\t{}\t{}\t{}\t{}\n",
        facts.name,
        facts.vcpus,
        facts.memory_mib,
        facts.interfaces,
        facts.addresses_per_interface,
        facts.storage_gb,
        devices(&facts.gpus),
        devices(&facts.accelerators),
    )
}

fn line_of_entry(entry: &Entry<'_>) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
        entry.name,
        entry.vcpus,
        entry.memory_mib,
        entry.architecture,
        entry.interfaces,
        entry.addresses_per_interface,
        entry.storage_gb,
        field(entry.gpus()),
        field(entry.accelerators()),
    )
}

fn field<'a>(devices: impl Iterator<Item = Device<'a>>) -> Cow<'static, str> {
    let devices: Vec<_> = devices
        .map(|device| format!("{}:{}:{}", device.count, plain(device.maker), plain(device.model)))
        .collect();
    if devices.is_empty() { "-".into() } else { devices.join(";").into() }
}

/// Without the characters that mean something in the file.
fn plain(text: &str) -> String {
    let plain = |letter: char| {
        if letter.is_control() || matches!(letter, ':' | ';') { ' ' } else { letter }
    };
    text.chars().map(plain).collect::<String>().trim().to_owned()
}
