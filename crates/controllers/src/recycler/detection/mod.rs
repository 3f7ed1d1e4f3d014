//! Detection: from Events to counts per node group.
//!
//! [`event_tracker`] notes matching Events ([`pattern`]) when they arrive. [`locator`] finds their node, instance and
//! group. [`counting`] has the counts as they are stored, per [`window`].
//!
//! The leader stores the counts together with the version up to which Events are counted (the *mark*), so another
//! process continues from there. Not here: what follows from the counts (`decide`).

pub mod counting;
pub mod event_tracker;
pub mod group_membership;
pub mod locator;
pub mod occurrence;
pub mod pattern;
pub(super) mod spent;
pub mod window;
