//! What is stored on a machine before its instance is asked for, so that every repeat is the same request.

use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef, ProviderStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::SimMachineProviderConfig;
use crate::types;
use crate::wire::{CreateInstance, Name};

/// `status.providerStatus.launch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Launch {
    /// Which attempt this is.
    pub(super) attempt: u32,
    /// When it was prepared; for people.
    pub(super) at: jiff::Timestamp,
    /// Whether the zone was chosen here: then another attempt may choose another one.
    pub(super) zone_chosen: bool,
    /// The request, to the letter.
    #[serde(flatten)]
    pub(super) request: CreateInstance,
}

impl Launch {
    /// Fixes every value for the machine's attempt.
    pub(super) fn prepare(machine: &MachineRef) -> Result<Self, CloudError> {
        let invalid = |message: String| CloudError::new(ErrorClass::InvalidConfiguration, message);
        let config = SimMachineProviderConfig::read(&machine.spec)
            .map_err(|error| invalid(error.to_string()))?;
        let mut tags = config.tags;
        let ownership = Ownership::of(machine).tags();
        tags.extend(ownership.map(|(tag, value)| (tag.to_owned(), value.to_string())));
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
                tags,
            },
        })
    }

    /// What is stored on the machine, whichever attempt it is for.
    pub(super) fn stored(status: &ProviderStatus) -> Option<Self> {
        serde_json::from_value(status.0.get("launch")?.clone()).ok()
    }

    /// What is stored on the machine for its present attempt.
    pub(super) fn of(machine: &MachineRef) -> Result<Self, CloudError> {
        let stored = Self::stored(&machine.status);
        stored.filter(|launch| launch.attempt == machine.attempt).ok_or_else(|| {
            let message = format!("attempt {} was not prepared", machine.attempt);
            CloudError { effect: Effect::None, ..CloudError::new(ErrorClass::Unknown, message) }
        })
    }

    /// As a status that has nothing else.
    pub(super) fn status(&self) -> Result<ProviderStatus, CloudError> {
        let value = serde_json::to_value(self).map_err(|error| {
            CloudError::new(ErrorClass::InvalidConfiguration, error.to_string())
        })?;
        Ok(ProviderStatus([("launch".to_owned(), value)].into_iter().collect()))
    }
}

/// What makes a repeat a repeat.
pub(super) fn token(machine: &MachineRef) -> String {
    format!("{}-{}", machine.uid, machine.attempt)
}

/// The attempts of a machine go round the zones; machines begin at different ones.
fn choose_zone(machine: &MachineRef) -> &'static str {
    let sum: usize = machine.uid.0.bytes().map(usize::from).sum();
    let turn = usize::try_from(machine.attempt).unwrap_or(0);
    types::ZONES[(sum + turn) % types::ZONES.len()]
}

/// The id of the instance that is known to belong to a machine.
pub(super) fn known_id(machine: &MachineRef) -> Option<&str> {
    let stored = machine.status.0.get("instanceId").and_then(Value::as_str);
    stored.or_else(|| machine.provider_id.as_deref().and_then(crate::wire::id_of))
}
