//! What the caches store of each kind.

mod cloud;
mod event;
mod event_recycler;
pub(crate) mod indexes;
mod interner;
mod machine;
mod machine_deployment;
mod machine_health_check;
mod machine_set;
mod node;
mod pod;
mod remediation;
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
pub(crate) use machine_health_check::MachineHealthCheck;
pub use machine_health_check::MachineHealthChecks;
pub(crate) use machine_set::{
    DeletePolicy, MachineSet, MachineSetSpec, MachineSetState, MachineSetStatus, Template,
    UnknownDeletePolicy,
};
pub use machine_set::{MachineSets, NoState, State};
pub use node::Nodes;
pub(crate) use node::{Node, NodeCondition, Readiness, Ready};
pub(crate) use pod::Pod;
pub use pod::Pods;
pub(crate) use remediation::{
    RemediationRequest, RemediationRequests, RemediationTemplate, RemediationTemplates,
};
pub use scalable::{AsScalable, Scalable};
pub(crate) use taint::Taint;

use std::sync::Arc;

use machinist_api::names::ANNOTATION_FREEZE;
use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_SETS};
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::safety::ObjectRef;
use machinist_runtime::cache::kind::Stored;
use machinist_runtime::freezes::Freezable;

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
stored!(RemediationRequest, RemediationTemplate);
stored!(Event, EventRecycler, Machine, MachineDeployment, MachineHealthCheck, Node, Pod);

impl Freezable for Machine {
    fn freeze(&self) -> Option<&str> {
        self.annotations.get(ANNOTATION_FREEZE)
    }

    fn parent(&self) -> Option<ObjectRef> {
        owner(&self.meta, self.owner.as_deref()?, MACHINE_SETS.kind)
    }
}

impl Freezable for MachineSet {
    fn freeze(&self) -> Option<&str> {
        self.state.freeze.as_deref()
    }

    fn parent(&self) -> Option<ObjectRef> {
        owner(&self.meta, self.state.owner.as_deref()?, MACHINE_DEPLOYMENTS.kind)
    }
}

impl Freezable for MachineDeployment {
    fn freeze(&self) -> Option<&str> {
        self.freeze.as_deref()
    }
}

impl Freezable for EventRecycler {
    fn freeze(&self) -> Option<&str> {
        self.freeze.as_deref()
    }
}

impl Freezable for MachineHealthCheck {
    fn freeze(&self) -> Option<&str> {
        self.freeze.as_deref()
    }
}

/// The owner, if it is of this kind.
fn owner(meta: &Meta, owner: &Owner, kind: &'static str) -> Option<ObjectRef> {
    let (namespace, name) = (Arc::clone(&meta.key.namespace), Arc::clone(&owner.name));
    (*owner.kind == *kind).then(|| ObjectRef { kind, key: ObjectKey::new(namespace, name) })
}
