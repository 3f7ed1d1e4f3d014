use machinist_provider::cloud::{Address, AddressKind, Instance, InstanceState, MachineRef};
use serde_json::Value;

use super::launch::{Launch, known_id, token, wanted_tags};
use super::own;
use crate::messages;
use crate::wire::{self, State};

pub(super) fn instance(found: &wire::Instance, machine: Option<&MachineRef>) -> Instance {
    // For its machine it is gone; for a list of leftovers it is not.
    let left_behind = machine.is_none() && !found.volumes.is_empty();
    let mut status = machine.map(|machine| machine.status.clone()).unwrap_or_default();
    let mut set = |name: &str, value: &str| status.0.insert(name.to_owned(), Value::from(value));
    set("instanceId", &found.id);
    set("instanceState", found.state.as_str());
    let address = |kind, address: &str| Address { kind, address: address.into() };
    Instance {
        id: found.id.as_str().into(),
        provider_id: found.provider_id().into(),
        state: match found.state {
            State::Pending => InstanceState::Pending,
            State::Running => InstanceState::Running,
            State::ShuttingDown => InstanceState::Terminating,
            State::Terminated if left_behind => InstanceState::Terminating,
            State::Terminated => InstanceState::Terminated,
        },
        state_text: found.state.as_str().into(),
        state_reason: found.state_reason.as_deref().map(Into::into),
        addresses: vec![
            address(AddressKind::InternalIp, &found.address),
            address(AddressKind::InternalDns, &found.id),
            address(AddressKind::Hostname, &found.id),
        ],
        region: Some(found.region.as_str().into()),
        zone: Some(found.zone.as_str().into()),
        instance_type: Some(found.instance_type.as_str().into()),
        interruptible: false,
        uncertain: false,
        drift: machine.and_then(|machine| drift(found, machine)),
        status,
    }
}

fn drift(found: &wire::Instance, machine: &MachineRef) -> Option<String> {
    if found.state == State::Terminated {
        return None;
    }
    let wanted = wanted_tags(machine).into_iter();
    let differing = wanted.filter(|(tag, value)| found.tags.get(tag) != Some(value));
    let tags: Vec<_> = differing.map(|(tag, _)| tag).collect();
    (!tags.is_empty()).then(|| messages::tags_differ(tags.iter()))
}

/// The current instance: the known one, else one that exists, else that of the current attempt. Leftovers of earlier
/// attempts are for the deletion.
pub(super) fn current<'a>(
    found: &'a [wire::Instance],
    machine: &'a MachineRef,
) -> Option<&'a wire::Instance> {
    let newest = |fits: &dyn Fn(&wire::Instance) -> bool| {
        own(found, machine).filter(|instance| fits(instance)).last()
    };
    if let Some(known) = known_id(machine).and_then(|id| newest(&|instance| instance.id == id)) {
        return Some(known);
    }
    let attempt = Launch::stored(&machine.status)
        .map_or_else(|| token(machine), |launch| launch.request.token);
    newest(&|instance| instance.state != State::Terminated)
        .or_else(|| newest(&|instance| instance.token == attempt))
}
