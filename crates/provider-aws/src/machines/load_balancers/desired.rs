//! The load balancers that an instance should be registered with, and those where it may be registered. Pure.
//!
//! The latter are stored with the instance's address: one that was removed from the spec still has the target, and a
//! terminated instance has no address any more.

use machinist_aws_spec::config::LoadBalancer;
use machinist_provider::cloud::{CloudError, ErrorClass, MachineRef};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::machines::errors::no_effect;
use crate::messages;

pub(crate) const PRIVATE_IP: &str = "privateIp";

pub(crate) const LOAD_BALANCERS: &str = "loadBalancers";

/// A cheap check: few specs name load balancers, and parsing takes time.
pub(crate) fn may_be_balanced(machine: &MachineRef) -> bool {
    machine.spec.get().contains("loadBalancers")
}

pub(crate) fn wanted(machine: &MachineRef) -> Vec<LoadBalancer> {
    if !may_be_balanced(machine) {
        return Vec::new();
    }
    LoadBalancer::all_of(&machine.spec).unwrap_or_default()
}

/// The stored load balancers and those of the spec; an error if neither is readable.
pub(crate) fn possible(machine: &MachineRef) -> Result<Vec<LoadBalancer>, CloudError> {
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
            let message = messages::load_balancers_unknown(&error.to_string());
            Err(no_effect(ErrorClass::Unexpected, message))
        }
    }
}

pub(crate) fn to_store(machine: &MachineRef) -> Option<Value> {
    let balancers = possible(machine).ok().filter(|balancers| !balancers.is_empty())?;
    Some(json!(balancers))
}
