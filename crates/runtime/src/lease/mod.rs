//! Leases: who may write, for how long.
//!
//! * [`name`]: which Lease; [`record`]: a Lease as it stands in the cluster; [`rules`]: what to do about it, as a pure function.
//! * [`elector`]: takes, renews, gives back; [`leadership`]: what a writer sees of all this.
//!
//! The crates that exist for this are not used: they trust the other side's clock, or write without comparing versions, so that two
//! processes can hold a lease at once. Here every write of a Lease names the version it replaces, and whether a lease has run
//! out is judged by how long *we* have not seen it change.

pub mod elector;
pub mod leadership;
pub mod name;
pub mod record;
mod rules;

pub use self::elector::Elector;
pub use self::leadership::Leadership;
pub use self::name::{Candidate, LeaseCustom, LeaseName};
