//! What the caches store of each kind.

mod cloud;
mod machine;
mod machine_set;
mod node;
mod words;

pub use cloud::{Certificates, Infrastructure, Infrastructures, Lease, Leases, Secrets};
pub use machine::{Hook, Hooks, Machine, MachineStatus, Machines, NodeRef, Owner, ProviderSpec};
pub use machine_set::{
    Authority, Children, DeletePolicy, MachineSet, MachineSetStatus, MachineSets, Template,
    UnknownDeletePolicy,
};
pub use node::{Node, Nodes, Readiness, Ready};
