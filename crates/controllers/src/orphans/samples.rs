//! Instances, Machines and views for tests.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::cloud::{
    Address, AddressKind, Instance, InstanceState, Owned, ProviderStatus,
};

use super::GRACE;
use super::judge::{Rules, Sighting, judge};
use super::verdict::Verdict;
use super::view::{KnownMachine, KnownNode, View};

pub(super) const CLUSTER: &str = "c";

pub(super) const RULES: Rules = Rules { grace: GRACE, seen_before: false };

/// A time in seconds.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::constant(1_800_000_000, 0) + SignedDuration::from_secs(seconds)
}

pub(super) fn uid(text: &str) -> Uid {
    Uid(text.into())
}

/// A running instance of the first attempt, an hour before time zero.
pub(super) fn owned(id: &str, machine: &str) -> Owned {
    let ownership = Ownership { cluster: CLUSTER.into(), machine_uid: uid(machine) };
    let tags = ownership.tags().map(|(tag, value)| (tag.to_owned(), value.to_string()));
    let address = |kind, address: String| Address { kind, address: address.into() };
    Owned {
        machine_uid: uid(machine),
        attempt: Some(1),
        tags: tags.into_iter().collect(),
        instance: Instance {
            id: id.into(),
            provider_id: format!("test:///zone/{id}").into(),
            state: InstanceState::Running,
            state_text: "running".into(),
            state_reason: None,
            addresses: vec![
                address(AddressKind::InternalIp, format!("10.0.0.{id}")),
                address(AddressKind::Hostname, format!("host-{id}")),
            ],
            region: None,
            zone: None,
            instance_type: None,
            interruptible: false,
            uncertain: false,
            drift: None,
            status: ProviderStatus::default(),
        },
        created: Some(at(-3600)),
    }
}

/// A Machine with this uid and instance.
pub(super) fn machine(machine: &str, id: Option<&str>) -> KnownMachine {
    KnownMachine {
        key: ObjectKey::new("ns", machine),
        uid: uid(machine),
        deleting: false,
        provider_id: id.map(|id| format!("test:///zone/{id}").into()),
        stored: Vec::new(),
        attempt: Some(1),
    }
}

pub(super) fn node(name: &str, provider_id: Option<&str>) -> KnownNode {
    KnownNode {
        name: name.into(),
        provider_id: provider_id.map(Arc::from),
        internal_ips: Vec::new(),
    }
}

/// A view at time zero.
pub(super) fn view(machines: Vec<KnownMachine>) -> View {
    View {
        cluster: CLUSTER.into(),
        machines,
        undecodable: Vec::new(),
        nodes: Vec::new(),
        as_of: at(0),
        doubts: Vec::new(),
    }
}

/// The verdicts about instances that were not seen before.
pub(super) fn verdicts(listed: &[Owned], view: &View) -> Vec<Verdict> {
    let seen = |owned| Sighting { owned, first_seen: None };
    judge(&listed.iter().map(seen).collect::<Vec<_>>(), view, RULES)
}

pub(super) fn verdict(owned: &Owned, view: &View) -> Verdict {
    verdicts(std::slice::from_ref(owned), view).remove(0)
}

/// A duration of so many seconds.
pub(super) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
