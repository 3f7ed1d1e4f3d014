//! Detection: from Events to counts per node group.
//!
//! * [`pattern`]: which events count. [`watchers`]: what has happened for which EventRecycler, noted when it happens; nothing is searched.
//! * [`place`]: from an event to a node, an instance and its group; [`belongings`]: which instance is in which group, asked in batches.
//! * [`counting`]: what was counted, as it is stored; pure. [`occurrence`]: something that happened, as text where it leads to no group yet.
//!   `spent`: what does not count any more, because the group was recycled since; pure.
//!
//! What is counted is what is stored (up to a version, the *mark*), and what has happened since. Whoever leads stores both together, so a
//! process that dies, or follows, goes on from there: events up to the mark are counted, all others are not.
//!
//! Not here: what follows from the counts (`decide`).

pub mod belongings;
pub mod counting;
pub mod occurrence;
pub mod pattern;
pub mod place;
pub(super) mod spent;
pub mod watchers;
