//! Machines on EC2, by the controllers of the real binary: a fleet from nothing to nothing, one that another controller made, one at rest.
//!
//! Everything is as on OpenShift: endpoints and tags come from the Infrastructure, and the CA of the front from the cluster's own settings.

mod fleet;
mod scaling;
mod settled;
mod takeover;
