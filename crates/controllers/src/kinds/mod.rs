//! What the caches store of each kind.

mod cloud;
mod machine_set;

pub use cloud::{Certificates, Infrastructures, Lease, Leases, Secrets};
pub use machine_set::{Authority, MachineSet, MachineSets};
