//! What several controllers share and is pure: no IO, no clock, no randomness. Time and ids are arguments.
//!
//! * Objects: [`key`], [`meta`], [`pairs`] (labels), [`selector`], [`taint`], [`conditions`], [`machine`] (phases).
//! * Reconciling: [`observed`], [`retry`], [`backoff`], [`report`], [`patch`], [`annotations`], [`expiring`].
//! * Names of children: [`ordinals`], [`hash`]. Capacity: [`shape`], [`capacity_annotations`].

#![expect(missing_docs, reason = "names and fields that say what they are")]

pub mod annotations;
pub mod backoff;
pub mod capacity_annotations;
pub mod conditions;
pub mod expiring;
pub mod hash;
pub mod key;
mod labels;
pub mod machine;
pub mod machine_timings;
pub mod message_table;
pub mod messages;
pub mod meta;
pub mod observed;
pub mod ordinals;
pub mod pairs;
pub mod patch;
pub mod report;
pub mod retry;
pub mod selector;
pub mod shape;
pub mod taint;
