//! Resources, wire types, and names of annotations and labels.
//!
//! * [`resource`] has the path of each kind.
//! * [`names`] has every annotation, label and condition name.
//! * [`wire`] has lenient types for reading: unused fields are skipped by the parser.
//! * [`machine`], [`machine_set`] and [`event_recycler`] are the full types, from which CustomResourceDefinitions are
//!   generated ([`crds`]); [`parts`] is what they have in common.
//!
//! No IO and no decisions. Provider specs stay raw: they belong to the providers.

pub mod event_recycler;
pub mod machine;
pub mod machine_set;
pub mod names;
pub mod parts;
pub mod resource;
pub mod wire;

mod schema;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// Every CustomResourceDefinition that machinist brings to a cluster that has none of its own.
///
/// `cargo xtask generate` writes them to `deploy/crds/`; `cargo xtask check drift` fails when the two differ.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [machine_set::MachineSet::crd(), machine::Machine::crd(), event_recycler::crd()]
        .map(schema::as_openshift_has_it)
        .into()
}
