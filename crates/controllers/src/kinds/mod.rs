//! What the caches store of each kind.

mod machine_set;

pub use machine_set::{CapacityAnnotations, MachineSet, MachineSets};
