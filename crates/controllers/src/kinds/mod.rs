//! What the caches store of each kind.

mod cloud;
mod event;
mod event_recycler;
pub(crate) mod indexes;
mod interner;
mod machine;
mod machine_set;
mod node;
mod pod;

pub use cloud::{Certificates, Infrastructure, Infrastructures, Lease, Leases, Secrets};
pub use event::{Event, EventDetails, Events, Involved, hash_of};
pub use event_recycler::{EventRecycler, EventRecyclers};
pub use machine::{Hook, Hooks, Machine, MachineStatus, Machines, NodeRef, Owner, ProviderSpec};
pub use machine_set::{
    Authority, DeletePolicy, MachineSet, MachineSetSpec, MachineSetState, MachineSetStatus,
    MachineSets, NoState, State, Template, UnknownDeletePolicy,
};
pub use node::{Node, Nodes, Readiness, Ready};
pub use pod::{Pod, Pods};
