//! What the caches store of each kind.

mod cloud;
mod event;
mod event_recycler;
pub(crate) mod indexes;
mod interner;
mod machine;
mod machine_deployment;
mod machine_set;
mod node;
mod pod;
mod scalable;
mod taint;

pub(crate) use cloud::{
    Certificates, FeatureGate, FeatureGates, Infrastructures, Lease, Leases, Secrets,
};
pub use event::Events;
pub(crate) use event::{Event, EventDetails, Involved, hash_of};
pub use event_recycler::{EventRecycler, EventRecyclers};
pub(crate) use machine::{Hook, Machine, Owner, ProviderSpec};
pub use machine::{Machines, NodeRef};
pub(crate) use machine_deployment::MachineDeploymentSpec;
pub use machine_deployment::{MachineDeployment, MachineDeployments};
pub(crate) use machine_set::{
    DeletePolicy, MachineSet, MachineSetSpec, MachineSetState, MachineSetStatus, Template,
    UnknownDeletePolicy,
};
pub use machine_set::{MachineSets, NoState, State};
pub use node::Nodes;
pub(crate) use node::{Node, Readiness, Ready};
pub(crate) use pod::Pod;
pub use pod::Pods;
pub use scalable::{AsScalable, Scalable};
pub(crate) use taint::Taint;

use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::Stored;

macro_rules! stored {
    ($($object:ty),*) => {
        $(impl Stored for $object {
            fn meta(&self) -> &Meta {
                &self.meta
            }
        })*
    };
}

stored!(cloud::CertificateMap, cloud::Infrastructure, FeatureGate, Lease);
stored!(Event, EventRecycler, Machine, MachineDeployment, Node, Pod);
