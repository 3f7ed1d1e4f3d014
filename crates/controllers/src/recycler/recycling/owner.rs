//! Whoever wants a recycle: an EventRecycler, or somebody who recycles by hand.

use std::fmt::Debug;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Failure;
use machinist_provider::Pending;

/// Whoever wants a recycle.
pub trait Owner: Debug + Send + Sync {
    /// Who that is, for audit lines.
    fn key(&self) -> ObjectKey;

    /// Whether it still wants exactly this, read live. Asked directly before the cloud is changed.
    fn still_wants<'a>(&'a self, recycle: &'a Recycle) -> Pending<'a, Result<bool, Failure>>;
}
