//! The stored launch (`status.providerStatus.launch`), so that every repeat is the same request.
//!
//! User data is not stored, because it may be secret. If its Secret changes, EC2 either carries out the second request
//! or refuses its token, and the instance is found by its tags.

use std::collections::BTreeMap;
use std::ops::Not;

use machinist_aws_spec::config::Market;
use machinist_aws_spec::provider_id::is_instance_id;
use machinist_domain::hash::fnv1a;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef, ProviderStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machines::tags;
use crate::messages;

pub(crate) const HOST: &str = "dedicatedHost";

/// The format version. Another version is not repeated.
const VERSION: u32 = 1;

const HOST_TAGS: &str = "placement.host.dedicatedHost.dynamicHostAllocation.tags";

/// Every value of a launch. Missing values are not stored ([`without_nulls`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is stored under a name of its own")]
pub(crate) struct Launch {
    pub(crate) version: u32,
    pub(crate) attempt: u32,
    pub(crate) token: String,
    #[serde(default)]
    pub(crate) region: String,
    pub(crate) spec: Option<String>,
    pub(crate) image: String,
    pub(crate) instance_type: String,
    pub(crate) subnet: String,
    pub(crate) zone: String,
    /// Whether another attempt may use another zone.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) elsewhere: bool,
    /// Whether another attempt uses another subnet.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) other_subnets: bool,
    pub(crate) security_groups: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) device_index: i32,
    pub(crate) interface: Option<String>,
    pub(crate) public_ip: Option<bool>,
    /// As `public_ip`, in a wavelength zone.
    pub(crate) carrier_ip: Option<bool>,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) primary_ipv6: bool,
    /// Whether IMDS and the hostname support IPv6.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) dual_stack: bool,
    pub(crate) user_data_secret: Option<String>,
    pub(crate) key_name: Option<String>,
    pub(crate) profile: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) volumes: Vec<Volume>,
    pub(crate) tags: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) placement: Place,
    pub(crate) market: Option<Market>,
    pub(crate) capacity_reservation: Option<String>,
    pub(crate) http_tokens: Option<String>,
    pub(crate) sev_snp: Option<bool>,
    /// Released before another one is allocated, or with the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) former_hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) earlier_hosts: Vec<HostRequest>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Volume {
    pub(crate) device: String,
    pub(crate) gib: Option<i32>,
    pub(crate) kind: Option<String>,
    pub(crate) iops: Option<i32>,
    pub(crate) throughput: Option<i32>,
    pub(crate) encrypted: Option<bool>,
    pub(crate) kms_key: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Place {
    /// Set only if the spec does not name the subnet.
    pub(crate) zone: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) partition: Option<i32>,
    pub(crate) tenancy: Option<String>,
    pub(crate) affinity: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) own_host: Option<HostRequest>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostRequest {
    pub(crate) token: String,
    pub(crate) zone: String,
    pub(crate) instance_type: String,
    pub(crate) tags: BTreeMap<String, String>,
}

impl Launch {
    pub(crate) fn new(machine: &MachineRef) -> Self {
        Self {
            version: VERSION,
            attempt: machine.attempt,
            token: token(machine),
            region: machine.access.region.to_string(),
            spec: Some(spec_hash(machine)),
            ..Self::default()
        }
    }

    pub(crate) fn stored(status: &ProviderStatus) -> Option<Self> {
        let stored = Self::deserialize(status.0.get("launch")?).ok();
        stored.filter(|launch| launch.version == VERSION)
    }

    pub(crate) fn of(machine: &MachineRef) -> Result<Self, CloudError> {
        let stored = Self::stored(&machine.status);
        stored.filter(|launch| launch.attempt == machine.attempt).ok_or_else(|| {
            let attempt = machine.attempt;
            // The request cannot be repeated, but its instance is found by its tags.
            let (message, effect) = if machine.status.attempt() == Some(attempt) {
                (messages::unknown_launch_format(attempt), Effect::NoneForThisAttempt)
            } else {
                (messages::not_prepared(attempt), Effect::None)
            };
            CloudError { effect, ..CloudError::new(ErrorClass::Unexpected, message) }
        })
    }

    /// Removes the former hosts: they were released before this launch was requested.
    pub(crate) fn forget_former_hosts(status: &mut ProviderStatus) {
        if let Some(Value::Object(launch)) = status.0.get_mut("launch") {
            launch.remove("formerHosts");
        }
    }

    pub(crate) fn is_outdated(&self, machine: &MachineRef) -> bool {
        self.spec.as_ref().is_some_and(|spec| *spec != spec_hash(machine))
    }

    /// A launch that EC2 would refuse is not stored.
    pub(crate) fn into_status(self, machine: &MachineRef) -> Result<ProviderStatus, CloudError> {
        let of_host = self.placement.own_host.iter().map(|host| (HOST_TAGS, &host.tags));
        tags::refuse_too_many(of_host.chain([("tags", &self.tags)]))?;
        let value = serde_json::to_value(self)
            .map_err(|error| CloudError::new(ErrorClass::Unexpected, error.to_string()))?;
        let mut status = machine.status.clone();
        status.0.insert("launch".to_owned(), without_nulls(value));
        Ok(status)
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let stored = fields.into_iter().filter(|(_, value)| !value.is_null());
            stored.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

fn spec_hash(machine: &MachineRef) -> String {
    format!("{:016x}", fnv1a(machine.spec.get().as_bytes()))
}

/// EC2 accepts 64 characters; a uid has 36.
pub(crate) fn token(machine: &MachineRef) -> String {
    format!("{}-{}", machine.uid, machine.attempt)
}

/// Only well-formed ids: EC2 filters accept wildcards.
pub(crate) fn known_id(machine: &MachineRef) -> Option<&str> {
    let stored = machine.status.0.get("instanceId").and_then(Value::as_str);
    let named = || {
        let (_, id) = machine.provider_id.as_deref()?.strip_prefix("aws:///")?.split_once('/')?;
        is_instance_id(id).then_some(id)
    };
    stored.filter(|id| is_instance_id(id)).or_else(named)
}

pub(crate) fn known_host(machine: &MachineRef) -> Option<&str> {
    machine.status.0.get(HOST)?.get("id")?.as_str().filter(|id| !id.is_empty())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this form")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
