//! Which load balancers a machine's instance is to be registered with, and with which it may be.
//!
//! The latter are stored on the machine, with the address that they know its instance by: a load balancer that was taken out of the spec still knows
//! it, and an instance that is gone does not tell its address any more. Pure.

use machinist_aws_spec::config::LoadBalancer;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// The address that load balancers know an instance by.
pub(super) const PRIVATE_IP: &str = "privateIp";

/// The load balancers that may know an instance.
pub(super) const LOAD_BALANCERS: &str = "loadBalancers";

/// Whether a machine's spec may name load balancers. Few do, and reading a spec takes time.
pub(super) fn may_be_balanced(machine: &MachineRef) -> bool {
    machine.spec.get().contains("loadBalancers")
}

/// The load balancers that a machine's spec names.
pub(super) fn wanted(machine: &MachineRef) -> Vec<LoadBalancer> {
    if !may_be_balanced(machine) {
        return Vec::new();
    }
    LoadBalancer::all_of(&machine.spec).unwrap_or_default()
}

/// The load balancers that may know a machine's instance: those that were ever stored, and those of its spec. Where the spec cannot be read, it is
/// those that are stored, because nobody was registered with others; where nothing is stored either, nobody knows whom to tell, which is an error.
pub(super) fn suspected(machine: &MachineRef) -> Result<Vec<LoadBalancer>, CloudError> {
    let stored = machine.status.0.get(LOAD_BALANCERS);
    let stored = stored.and_then(|stored| Vec::<LoadBalancer>::deserialize(stored).ok());
    if !may_be_balanced(machine) {
        return Ok(stored.unwrap_or_default());
    }
    match (LoadBalancer::all_of(&machine.spec), stored) {
        (Ok(named), stored) => {
            let mut all = stored.unwrap_or_default();
            for balancer in named {
                if !all.contains(&balancer) {
                    all.push(balancer);
                }
            }
            Ok(all)
        }
        (Err(_), Some(stored)) => Ok(stored),
        (Err(error), None) => {
            let message = format!("load balancers may know the instance: {error}");
            Err(CloudError {
                effect: Effect::None,
                ..CloudError::new(ErrorClass::Unknown, message)
            })
        }
    }
}

/// What is stored of the load balancers that may know a machine's instance.
pub(super) fn remembered(machine: &MachineRef) -> Option<Value> {
    let balancers = suspected(machine).ok().filter(|balancers| !balancers.is_empty())?;
    let of = |one: LoadBalancer| json!({ "name": one.name, "type": one.kind });
    Some(balancers.into_iter().map(of).collect())
}
