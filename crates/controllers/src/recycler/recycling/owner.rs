//! The owner of a recycle: an EventRecycler, or the user of `machinist recycle`.

use std::fmt::Debug;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Failure;
use machinist_provider::Pending;

/// The owner of a recycle.
pub trait Owner: Debug + Send + Sync {
    /// Its key, for audit lines.
    fn key(&self) -> ObjectKey;

    /// Whether it still has exactly this recycle, by a live read directly before the cloud is changed.
    fn still_wants<'a>(&'a self, recycle: &'a Recycle) -> Pending<'a, Result<bool, Failure>>;
}
