//! EventRecycler of `kaws.pischarti.dev`: which events trigger the recycle of a node group, and how it is recycled.
//!
//! [`spec`] has every field of kaws with the same name, type and default; new fields are optional. There is one type
//! and one schema, served as `v1alpha1` (kaws) and `v1beta1` (stored) without conversion. Durations are text, because
//! objects from before the schema may contain anything.

pub mod recycle;
mod schema;
pub mod spec;
pub mod status;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use spec::{EventRecycler, EventRecyclerSpec};
pub use status::EventRecyclerStatus;

const OLD_VERSION: &str = "v1alpha1";

/// The definition, with both versions.
pub(crate) fn crd() -> CustomResourceDefinition {
    let mut crd = EventRecycler::crd();
    let mut old = crd.spec.versions.clone();
    for version in &mut old {
        OLD_VERSION.clone_into(&mut version.name);
        version.storage = false;
    }
    crd.spec.versions.splice(0..0, old);
    crd
}
