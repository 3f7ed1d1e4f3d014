//! The vocabulary that machinist shares with clusters: resources, wire types, names of annotations and labels.
//!
//! * [`resource`] says where a kind is served and builds its paths.
//! * [`names`] holds every annotation, label and user-visible constant of other people's and our own domains.
//! * [`wire`] has lenient types for reading: they skip what nobody reads while the JSON is being parsed.
//! * [`machine_set`] is the full type, from which the CustomResourceDefinition is generated ([`crds`]).
//!
//! Nothing here does IO, and nothing here decides anything. Provider specs stay raw: they belong to providers.

pub mod machine_set;
pub mod names;
pub mod resource;
pub mod wire;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// Every CustomResourceDefinition that machinist brings to a cluster that has none of its own.
///
/// `cargo xtask generate` writes them to `deploy/crds/`; `cargo xtask check drift` fails when the two differ.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![machine_set::MachineSet::crd()]
}
