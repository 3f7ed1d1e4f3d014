//! The stored launch, so that every repeat is the same request.

use std::collections::BTreeMap;

use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::cloud::{CloudError, ErrorClass, MachineRef, ProviderStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::not_called;
use crate::spec::SimMachineProviderConfig;
use crate::wire::{CreateInstance, Name};
use crate::{messages, types};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Launch {
    pub(super) attempt: u32,
    /// When it was prepared; informational.
    pub(super) at: jiff::Timestamp,
    /// Whether the spec leaves the zone open, so that another attempt may use another one.
    pub(super) zone_chosen: bool,
    #[serde(flatten)]
    pub(super) request: CreateInstance,
}

impl Launch {
    pub(super) fn prepare(machine: &MachineRef) -> Result<Self, CloudError> {
        let invalid = |message: String| CloudError::new(ErrorClass::InvalidConfiguration, message);
        let config = SimMachineProviderConfig::read(&machine.spec)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(Self {
            attempt: machine.attempt,
            at: jiff::Timestamp::now(),
            zone_chosen: config.zone.is_none(),
            request: CreateInstance {
                metadata: Name { name: machine.key.name.to_string() },
                token: token(machine),
                zone: config.zone.unwrap_or_else(|| choose_zone(machine).to_owned()),
                region: config.region,
                instance_type: config.instance_type,
                root_volume_gib: config.root_volume_gib,
                data_volume_gib: config.data_volume_gib,
                boot_seconds: config.boot_seconds,
                stop_seconds: config.stop_seconds,
                failures: config.failures,
                tags: with_owner(config.tags, machine),
            },
        })
    }

    pub(super) fn stored(status: &ProviderStatus) -> Option<Self> {
        serde_json::from_value(status.0.get("launch")?.clone()).ok()
    }

    pub(super) fn of(machine: &MachineRef) -> Result<Self, CloudError> {
        let stored = Self::stored(&machine.status);
        stored.filter(|launch| launch.attempt == machine.attempt).ok_or_else(|| {
            not_called(ErrorClass::Unexpected, messages::not_prepared(machine.attempt))
        })
    }

    pub(super) fn status(&self) -> Result<ProviderStatus, CloudError> {
        let value = serde_json::to_value(self).map_err(|error| {
            CloudError::new(ErrorClass::InvalidConfiguration, error.to_string())
        })?;
        Ok(ProviderStatus([("launch".to_owned(), value)].into_iter().collect()))
    }
}

/// The tags that the instance should have; without a readable spec those of the owner.
pub(super) fn wanted_tags(machine: &MachineRef) -> BTreeMap<String, String> {
    let config = SimMachineProviderConfig::read(&machine.spec).unwrap_or_default();
    with_owner(config.tags, machine)
}

/// The spec cannot override the owner's tags.
fn with_owner(
    mut tags: BTreeMap<String, String>,
    machine: &MachineRef,
) -> BTreeMap<String, String> {
    let owner = Ownership::of(machine).tags();
    tags.extend(owner.map(|(tag, value)| (tag.to_owned(), value.to_string())));
    tags
}

pub(super) fn token(machine: &MachineRef) -> String {
    format!("{}-{}", machine.uid, machine.attempt)
}

/// Attempts rotate through the zones; machines start at different ones.
fn choose_zone(machine: &MachineRef) -> &'static str {
    let sum: usize = machine.uid.0.bytes().map(usize::from).sum();
    let turn = usize::try_from(machine.attempt).unwrap_or(0);
    types::ZONES[(sum + turn) % types::ZONES.len()]
}

pub(super) fn known_id(machine: &MachineRef) -> Option<&str> {
    let stored = machine.status.0.get("instanceId").and_then(Value::as_str);
    stored.or_else(|| machine.provider_id.as_deref().and_then(crate::wire::id_of))
}
