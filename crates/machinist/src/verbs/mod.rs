//! One file per verb.

pub mod crds;
#[cfg(feature = "playground")]
pub mod playground;
pub mod run;
pub mod version;
