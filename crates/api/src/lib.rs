//! Resources, wire types, and names of annotations and labels. No IO and no decisions.
//!
//! [`wire`] has lenient types for reading. [`machine`], [`machine_set`], [`machine_deployment`],
//! [`machine_health_check`] and [`event_recycler`] are the full types, from which CustomResourceDefinitions are
//! generated ([`crds`]). Provider specs stay raw: they belong to the providers.

pub mod event_recycler;
pub mod machine;
pub mod machine_deployment;
pub mod machine_health_check;
pub mod machine_set;
#[expect(missing_docs, reason = "most names say what they are")]
pub mod names;
pub mod parts;
#[expect(missing_docs, reason = "constants named after the kinds")]
pub mod resource;
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API")]
pub mod wire;

mod messages;
mod named_enum;
mod schema;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// Every CustomResourceDefinition for clusters that have none. `cargo xtask generate` writes them to `deploy/crds/`.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [
        machine_set::MachineSet::crd(),
        machine::Machine::crd(),
        machine_deployment::MachineDeployment::crd(),
        machine_health_check::MachineHealthCheck::crd(),
        event_recycler::crd(),
    ]
    .map(schema::as_openshift_has_it)
    .into()
}
