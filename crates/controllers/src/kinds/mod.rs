//! What the caches store of each kind.

mod cloud;
mod event;
mod event_recycler;
pub(crate) mod indexes;
mod machine;
mod machine_set;
mod node;
mod pod;
mod pool;
mod words;

pub use cloud::{Certificates, Infrastructure, Infrastructures, Lease, Leases, Secrets};
pub use event::{About, Event, Events, Whom, hash_of};
pub use event_recycler::{EventRecycler, EventRecyclers};
pub use machine::{Hook, Hooks, Machine, MachineStatus, Machines, NodeRef, Owner, ProviderSpec};
pub use machine_set::{
    Authority, Children, DeletePolicy, MachineSet, MachineSetStatus, MachineSets, Template,
    UnknownDeletePolicy,
};
pub use node::{Node, Nodes, Readiness, Ready};
pub use pod::{Pod, Pods};
