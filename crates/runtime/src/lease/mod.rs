//! Leader election with Leases.
//!
//! * [`name`]: which Lease; [`record`]: its content; [`rules`]: the decision as a pure function.
//! * [`elector`]: acquires, renews, releases; [`leadership`]: the writers' view.
//!
//! Existing crates trust the clock of the holder, or write without comparing versions, so that two processes can lead
//! at once. Here every write of a Lease has a resourceVersion precondition, and expiry is judged by how long *this
//! process* has not seen the Lease change.

pub mod elector;
pub mod leadership;
pub mod name;
pub mod record;
mod rules;

pub use self::elector::Elector;
pub use self::leadership::Leadership;
pub use self::name::{Candidate, LeaseCustom, LeaseName};
