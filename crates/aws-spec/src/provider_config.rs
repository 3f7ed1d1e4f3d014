//! The spec half for AWS: reads `AWSMachineProviderConfig` under both of its API groups. A shape reads only the fields
//! that it needs, so that others may be wrong.

use std::sync::Arc;

use machinist_domain::shape::Shape;
use machinist_provider::spec::{self, Problem, SpecError, SpecHalf, SpecKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::config::{self, LocalReference, SIZES};
use crate::messages;

const KIND: &str = "AWSMachineProviderConfig";
const KINDS: &[SpecKind] = &[
    SpecKind { group: "machine.openshift.io", kind: KIND },
    SpecKind { group: "awsproviderconfig.openshift.io", kind: KIND },
];

/// The spec half for AWS.
#[derive(Debug, Clone, Copy, Default)]
pub struct AwsSpecs;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProviderConfig {
    kind: Option<String>,
    instance_type: Option<String>,
    placement: Option<Placement>,
    credentials_secret: Option<LocalReference>,
    block_devices: Option<Vec<BlockDevice>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Placement {
    region: Option<String>,
    availability_zone: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BlockDevice {
    device_name: Option<String>,
    ebs: Option<Ebs>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Ebs {
    volume_size: Option<i64>,
}

impl SpecHalf for AwsSpecs {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        let config: ProviderConfig = spec::read(spec)?;
        if let Some(error) = foreign(config.kind.as_deref()) {
            return Err(error);
        }
        let placement = config.placement.unwrap_or_default();
        let devices = config.block_devices.unwrap_or_default();
        Ok(Shape {
            instance_type: text(config.instance_type)
                .ok_or_else(|| Problem::at("instanceType", messages::REQUIRED))?,
            region: text(placement.region),
            zone: text(placement.availability_zone),
            root_disk_gib: root_disk(&devices)?,
            // Whether the name is valid matters only to callers of a cloud.
            credentials_secret: config
                .credentials_secret
                .and_then(|secret| text(Some(secret.name))),
        })
    }

    fn kinds(&self) -> &[SpecKind] {
        KINDS
    }

    fn hot_fields(&self, _: &RawValue) -> &'static [&'static str] {
        &["tags"]
    }

    fn in_place_fields(&self, _: &RawValue) -> &'static [&'static str] {
        &["ami", "userDataSecret"]
    }

    fn validate(&self, spec: &RawValue) -> Vec<Problem> {
        let config: config::ProviderConfig = match spec::read(spec) {
            Ok(config) => config,
            Err(problem) => return vec![problem],
        };
        match foreign(config.kind.as_deref()) {
            Some(error) => vec![Problem::at("", error.to_string())],
            None => config.problems(),
        }
    }
}

/// The error for another kind. A spec without a kind is accepted.
pub(crate) fn foreign(kind: Option<&str>) -> Option<SpecError> {
    let kind = kind.filter(|kind| *kind != KIND)?;
    Some(SpecError::ForeignKind { kind: kind.to_owned(), known: KINDS.to_vec() })
}

fn text(value: Option<String>) -> Option<Arc<str>> {
    value.filter(|text| !text.is_empty()).map(Into::into)
}

/// The device without a name is the root volume.
fn root_disk(devices: &[BlockDevice]) -> Result<Option<u32>, Problem> {
    let is_root = |device: &BlockDevice| device.device_name.as_deref().unwrap_or("").is_empty();
    let Some(at) = devices.iter().position(is_root) else { return Ok(None) };
    let Some(size) = devices[at].ebs.as_ref().and_then(|ebs| ebs.volume_size) else {
        return Ok(None);
    };
    u32::try_from(size).map(Some).map_err(|_| {
        let path = format!("blockDevices[{at}].ebs.volumeSize");
        let range = messages::between(SIZES.start(), format_args!("{} GiB", SIZES.end()));
        Problem::at(path, messages::got(&range, size))
    })
}

#[cfg(test)]
mod tests;
