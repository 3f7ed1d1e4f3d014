//! What several controllers share and is pure: no IO, no clock, no randomness. Time and ids are arguments.
//!
//! * Objects: [`key`], [`meta`], [`pairs`], [`labels`], [`conditions`], [`machine`] (phases).
//! * Reconciling: [`observed`], [`retry`], [`backoff`], [`report`], [`patch`], [`annotations`], [`expiring`].
//! * Calls to clouds: [`permit`]. Budgets: [`remediation`]. Freezes: [`safety`].
//! * Stable names: [`hash`]. Capacity: [`shape`], [`capacity_annotations`].
//!
//! What serves one controller is in its folder.

#![expect(missing_docs, reason = "names and fields that say what they are")]

pub mod annotations;
pub mod backoff;
pub mod capacity_annotations;
pub mod conditions;
pub mod expiring;
pub mod hash;
pub mod key;
pub mod labels;
pub mod machine;
pub mod machine_timings;
pub mod message_table;
pub mod messages;
pub mod meta;
pub mod observed;
pub mod pairs;
pub mod patch;
pub mod permit;
pub mod remediation;
pub mod report;
pub mod retry;
pub mod safety;
pub mod shape;
