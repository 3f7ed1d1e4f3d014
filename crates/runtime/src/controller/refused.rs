//! What the API server refuses to a pass itself: to look, and to write the status.
//!
//! What `act` is refused is an outcome, and `report` tells it. Here nothing was reported, or what was reported has no place on the object: without an
//! Event people would see an object that nobody cares for.

use machinist_domain::report::{EventNote, EventReason, EventType};
use machinist_domain::retry::{Classified, Retry};

use crate::cluster::ApiError;

/// What people are told where they can mend it. The words are the API server's; of an answer that was not understood nothing is repeated.
pub(super) fn note(what: &str, error: &ApiError) -> Option<EventNote> {
    let for_people = error.category().needs_attention() && error.code().is_some();
    for_people.then(|| EventNote {
        event_type: EventType::Warning,
        reason: EventReason::ReconcileError,
        action: "Reconcile",
        note: format!("{what}: {error}"),
    })
}

/// When to come back. Whoever mends it does not change the object, so nobody waits for that.
pub(super) fn retry(error: &dyn Classified) -> Retry {
    match error.retry() {
        Retry::OnChange => Retry::Backoff,
        retry => retry,
    }
}
