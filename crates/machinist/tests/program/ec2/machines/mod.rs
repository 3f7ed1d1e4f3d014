//! Machines on EC2, by the controllers of the real binary: a fleet from nothing to nothing, one that another
//! controller made, one at rest, one that a user stops and terminates, one that EC2 may take back, one whose cluster
//! has no name yet, one whose launch was not answered.
//!
//! Everything is as on OpenShift: endpoints and tags come from the Infrastructure, and the CA of the front from the
//! cluster's own settings.

mod behind_our_back;
mod converted;
mod fleet;
mod lost_answers;
mod naming;
mod scaling;
mod secrecy;
mod settled;
mod spot;
mod takeover;
