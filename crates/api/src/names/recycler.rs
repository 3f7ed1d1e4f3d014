/// Finalizer of an EventRecycler with an active recycle.
pub const FINALIZER_RECYCLER: &str = "machinist.dev/recycler";
pub const CONDITION_RECYCLING: &str = "Recycling";
