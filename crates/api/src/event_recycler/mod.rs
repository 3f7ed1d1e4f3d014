//! EventRecycler of `kaws.pischarti.dev`: which events mean that a node group is bad, and how it is recycled.
//!
//! * [`spec`]: what is asked for. Every field that kaws has, under the same name, type and default; what is new is optional.
//! * [`status`]: what was counted and done. [`recycle`]: a recycle under way, in full, so that it goes on after a crash.
//!
//! There is one type and one schema. It is served as `v1alpha1`, which kaws's users have, and as `v1beta1`, which is stored; objects of
//! one are objects of the other, and nothing is converted. Durations are text here: what the schema refuses may be stored
//! already, from the days when nothing was refused, and one bad object must not be in the way of the others.

pub mod recycle;
mod schema;
pub mod spec;
pub mod status;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use spec::{EventRecycler, EventRecyclerSpec};
pub use status::EventRecyclerStatus;

/// The version that kaws's users have.
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
