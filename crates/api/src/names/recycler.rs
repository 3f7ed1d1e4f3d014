//! EventRecyclers.

/// Finalizer of an EventRecycler with an active recycle.
pub const FINALIZER_RECYCLER: &str = "machinist.dev/recycler";
/// Condition of an EventRecycler: whether a recycle is active.
pub const CONDITION_RECYCLING: &str = "Recycling";
