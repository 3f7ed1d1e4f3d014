//! What several controllers share and is pure.
//!
//! * [`key`]: how an object is named in queues, caches and logs; [`meta`]: what is stored of an object's metadata.
//! * [`retry`]: how an error is to be retried, and its category; [`backoff`]: how long; [`observed`]: what a request returned;
//!   [`report`]: what a reconcile reports.
//! * [`conditions`]: conditions of objects, merged into what others wrote; [`machine`]: phases and authorities;
//!   [`selector`]: label selectors; [`ordinals`]: numbers and names of children; [`hash`]: what those follow from.
//! * [`drain`]: which pods of a node go, and how far that is; [`window`]: counting over a sliding window;
//!   [`expiring`]: a map whose entries expire.
//! * [`shape`]: what a machine would give, in no cloud's terms; [`labels`]: merging of label lists;
//!   [`annotations`]: a change of annotations as data; [`capacity_annotations`]: what cluster-autoscaler is told of an empty set.
//!
//! No IO, no clock, no randomness: time and ids are arguments.

pub mod annotations;
pub mod backoff;
pub mod capacity_annotations;
pub mod conditions;
pub mod drain;
pub mod expiring;
pub mod hash;
pub mod key;
pub mod labels;
pub mod machine;
pub mod machine_timings;
pub mod membership;
pub mod message_table;
pub mod meta;
pub mod observed;
pub mod ordinals;
pub mod pairs;
pub mod report;
pub mod retry;
pub mod selector;
pub mod shape;
pub mod taint;
pub mod window;
