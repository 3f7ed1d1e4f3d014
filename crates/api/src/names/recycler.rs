//! EventRecyclers.

/// On an EventRecycler that recycles something: what was begun is ended before the object goes.
pub const FINALIZER_RECYCLER: &str = "machinist.dev/recycler";
/// Of an EventRecycler: whether it recycles anything, and if not, what keeps it from doing so.
pub const CONDITION_RECYCLING: &str = "Recycling";
