//! The cloud half: implements `machinist_provider::cloud` with calls to the hypervisor.
//!
//! Four things make it safe, and every provider needs them: the token comes from the Machine's uid and attempt, what
//! is created was stored before, "not found" is believed only after a while, and the permit is checked directly before
//! each change.

use std::collections::BTreeMap;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::{Pending, permit};
use machinist_provider::cloud::absence::Absences;
use machinist_provider::cloud::ownership::{Ownership, TAG_CLUSTER, TAG_MACHINE_UID};
use machinist_provider::cloud::{
    Address, AddressKind, Cloud, CloudError, Deletion, Effect, ErrorClass, Instance, InstanceState,
    MachineRef, Owned, ProviderStatus, Reach, ObservedInstance,
};
use machinist_provider::parts::Parts;
use serde_json::json;

use crate::hypervisor::{Guest, Hypervisor, Refusal};
use crate::spec::ExampleMachineProviderConfig;

/// Calls the hypervisor.
#[derive(Debug)]
pub struct ExampleCloud {
    hypervisor: Hypervisor,
    parts: Parts,
    absences: Absences,
}

impl ExampleCloud {
    /// Calls this hypervisor.
    pub fn new(hypervisor: Hypervisor, parts: Parts) -> Self {
        Self { hypervisor, parts, absences: Absences::default() }
    }

    fn prepare_now(&self, machine: &MachineRef) -> Result<ProviderStatus, CloudError> {
        let invalid = |message: String| CloudError::new(ErrorClass::InvalidConfiguration, message);
        let config = ExampleMachineProviderConfig::read(&machine.spec)
            .map_err(|error| invalid(error.to_string()))?;
        if let Some(problem) = config.problems().first() {
            return Err(invalid(problem.to_string()));
        }
        let launch = json!({
            "attempt": machine.attempt,
            "token": format!("{}-{}", machine.uid, machine.attempt),
            "flavour": config.flavour,
            "tags": tags(machine),
        });
        Ok(ProviderStatus([("launch".to_owned(), launch)].into_iter().collect()))
    }

    fn create_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let flavour = launch(machine, "flavour");
        let prepared = machine.status.attempt() == Some(machine.attempt);
        let tags = launch_tags(machine);
        let (Some(token), Some(flavour), Some(tags), true) =
            (launch(machine, "token"), flavour, tags, prepared)
        else {
            let message = format!("attempt {} was not prepared", machine.attempt);
            let error = CloudError::new(ErrorClass::Unexpected, message);
            return Err(CloudError { effect: Effect::None, ..error });
        };
        // The guest may appear from now on.
        self.absences.forget(&machine.uid);
        permit::check()?;
        let guest = self.hypervisor.create(token, flavour, tags).map_err(error)?;
        Ok(instance(&guest, Some(machine)))
    }

    /// All guests with this tag, from all pages.
    fn guests(&self, tag: (&str, &str)) -> Result<Vec<Guest>, CloudError> {
        let mut all = Vec::new();
        let mut cursor = Some(0);
        while let Some(from) = cursor {
            let (page, next) = self.hypervisor.list(tag, from).map_err(error)?;
            all.extend(page);
            cursor = next;
        }
        Ok(all)
    }

    fn of_machine(&self, machine: &MachineRef) -> Result<Vec<Guest>, CloudError> {
        self.guests((TAG_MACHINE_UID, &machine.uid.0))
    }

    fn observe(&self, machine: &MachineRef) -> ObservedInstance {
        let guests = match self.of_machine(machine) {
            Ok(guests) => guests,
            Err(error) => return ObservedInstance::Unknown(error.failure()),
        };
        // A guest that exists, or the removed one of the current attempt.
        let exists = guests.iter().rev().find(|guest| guest.exists);
        let current = exists.or_else(|| guests.iter().find(|guest| is_last(guest, machine)));
        if let Some(guest) = current {
            return ObservedInstance::Present(instance(guest, Some(machine)).into());
        }
        match self.patience_left(machine, &guests) {
            None => ObservedInstance::Absent,
            Some(wait) => ObservedInstance::Unknown(Failure {
                category: Category::Unavailable,
                retry: Retry::After(wait),
                message: "not found, but a new guest is not shown at once".to_owned(),
            }),
        }
    }

    /// How long a requested guest may still appear; `None` if none can.
    fn patience_left(&self, machine: &MachineRef, found: &[Guest]) -> Option<Duration> {
        // Without a stored launch no guest was requested.
        machine.status.attempt()?;
        if found.iter().any(|guest| is_last(guest, machine)) {
            self.absences.forget(&machine.uid);
            return None;
        }
        let missed = self.absences.missed(&machine.uid, (self.parts.clock)());
        self.parts.timings.consistency.checked_sub(missed).filter(|left| !left.is_zero())
    }

    fn update_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let mut guests = self.of_machine(machine)?;
        let Some(guest) = guests.iter_mut().rev().find(|guest| guest.exists) else {
            let message = format!("machine {} has no guest", machine.key);
            return Err(CloudError::new(ErrorClass::NotFound, message));
        };
        permit::check()?;
        self.hypervisor.tag(&guest.id, tags(machine)).map_err(error)?;
        guest.tags.extend(tags(machine));
        Ok(instance(guest, Some(machine)))
    }

    fn delete_now(&self, machine: &MachineRef) -> Result<Deletion, CloudError> {
        let guests = self.of_machine(machine)?;
        for guest in guests.iter().filter(|guest| guest.exists) {
            permit::check()?;
            self.hypervisor.delete(&guest.id).map_err(error)?;
        }
        match self.patience_left(machine, &guests) {
            Some(wait) => Ok(Deletion::UnderWay(format!("a guest may appear for {wait:?} more"))),
            None => Ok(Deletion::Gone),
        }
    }

    fn list_now(&self, within: &Reach) -> Result<Vec<Owned>, CloudError> {
        let guests = self.guests((TAG_CLUSTER, &within.cluster))?;
        Ok(guests.iter().filter_map(|guest| owned(guest, within)).collect())
    }

    fn delete_orphan_now(&self, within: &Reach, orphan: &Owned) -> Result<Deletion, CloudError> {
        let id = &*orphan.instance.id;
        let guests = self.guests((TAG_MACHINE_UID, &orphan.machine_uid.0))?;
        let known = guests.iter().find(|guest| guest.id == id);
        if known.is_some_and(|guest| !guest.exists) {
            return Ok(Deletion::Gone);
        }
        if known.and_then(|guest| owned(guest, within)).is_none() {
            let message = format!("guest {id} is not deleted: its tags have changed");
            let error = CloudError::new(ErrorClass::Conflict, message);
            return Err(CloudError { effect: Effect::None, ..error });
        }
        permit::check()?;
        self.hypervisor.delete(id).map_err(error)?;
        Ok(Deletion::UnderWay(format!("removing guest {id}")))
    }
}

/// `None` without the tags of this cluster, or if the guest is gone.
fn owned(guest: &Guest, within: &Reach) -> Option<Owned> {
    let ownership = Ownership::read(|tag| guest.tags.get(tag).map(String::as_str))?;
    (ownership.cluster == within.cluster && guest.exists).then(|| Owned {
        attempt: Ownership::attempt(&guest.token, &ownership.machine_uid),
        machine_uid: ownership.machine_uid,
        tags: guest.tags.clone(),
        instance: instance(guest, None),
        // This hypervisor does not know it, so an orphan's age is unknown, and it is not collected.
        created: None,
    })
}

impl Cloud for ExampleCloud {
    fn prepare<'a>(
        &'a self,
        machine: &'a MachineRef,
    ) -> Pending<'a, Result<ProviderStatus, CloudError>> {
        Box::pin(async { self.prepare_now(machine) })
    }

    fn create<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(async { self.create_now(machine) })
    }

    // A real provider describes all of them in one request.
    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>> {
        Box::pin(async { machines.iter().map(|machine| self.observe(machine)).collect() })
    }

    fn update<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>> {
        Box::pin(async { self.update_now(machine) })
    }

    fn delete<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(async { self.delete_now(machine) })
    }

    fn list<'a>(&'a self, within: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>> {
        Box::pin(async { self.list_now(within) })
    }

    fn delete_orphan<'a>(
        &'a self,
        within: &'a Reach,
        orphan: &'a Owned,
    ) -> Pending<'a, Result<Deletion, CloudError>> {
        Box::pin(async { self.delete_orphan_now(within, orphan) })
    }
}

/// A value of the stored launch.
fn launch<'a>(machine: &'a MachineRef, name: &str) -> Option<&'a str> {
    machine.status.0.get("launch")?.get(name)?.as_str()
}

/// The tags of the stored launch: `create` reads nothing else.
fn launch_tags(machine: &MachineRef) -> Option<BTreeMap<String, String>> {
    let tags = machine.status.0.get("launch")?.get("tags")?;
    serde_json::from_value(tags.clone()).ok()
}

/// Whether this guest belongs to the machine's last attempt.
fn is_last(guest: &Guest, machine: &MachineRef) -> bool {
    launch(machine, "token") == Some(guest.token.as_str())
}

/// The tags of a machine's guest. The spec cannot override the owner's.
fn tags(machine: &MachineRef) -> BTreeMap<String, String> {
    let config = ExampleMachineProviderConfig::read(&machine.spec);
    let mut tags = config.map(|config| config.tags).unwrap_or_default();
    let owner = Ownership::of(machine).tags();
    tags.extend(owner.map(|(tag, value)| (tag.to_owned(), value.to_string())));
    tags
}

fn instance(guest: &Guest, machine: Option<&MachineRef>) -> Instance {
    let mut status = machine.map(|machine| machine.status.clone()).unwrap_or_default();
    status.0.insert("guestId".to_owned(), guest.id.as_str().into());
    let (state, word) = match guest.exists {
        true => (InstanceState::Running, "running"),
        false => (InstanceState::Terminated, "removed"),
    };
    let address = |kind, address: &str| Address { kind, address: address.into() };
    let is_right = |machine: &MachineRef| {
        tags(machine).iter().all(|(tag, value)| guest.tags.get(tag) == Some(value))
    };
    Instance {
        id: guest.id.as_str().into(),
        provider_id: format!("example:///{}", guest.id).into(),
        state,
        state_text: word.into(),
        state_reason: None,
        addresses: vec![
            address(AddressKind::InternalIp, &guest.address),
            address(AddressKind::Hostname, &guest.id),
        ],
        region: None,
        zone: None,
        instance_type: Some(guest.flavour.as_str().into()),
        interruptible: false,
        uncertain: false,
        drift: machine.is_some_and(|machine| !is_right(machine)).then(|| "tags differ".to_owned()),
        status,
    }
}

/// The hypervisor's errors in the classes of the contract.
fn error(refusal: Refusal) -> CloudError {
    let class = match refusal {
        Refusal::BadRequest => ErrorClass::InvalidConfiguration,
        Refusal::Full => ErrorClass::CapacityExhausted,
        Refusal::TooMany => ErrorClass::Throttled,
        Refusal::Forbidden => ErrorClass::Unauthorised,
        Refusal::Timeout => ErrorClass::Unavailable,
        Refusal::Gibberish => ErrorClass::Unexpected,
    };
    let error = CloudError::new(class, format!("the hypervisor returned {refusal:?}"));
    // These errors concern all machines of the hypervisor.
    match class {
        ErrorClass::CapacityExhausted | ErrorClass::Throttled => error.within("example"),
        _ => error,
    }
}
