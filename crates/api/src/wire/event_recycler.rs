//! EventRecyclers. Spec and status are the full types: there are few objects, and every field of them is read.

use serde::Deserialize;

use super::{Metadata, lenient};
use crate::event_recycler::{EventRecyclerSpec, EventRecyclerStatus};

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct EventRecycler {
    pub metadata: Metadata,
    /// The desired state; `None` if it is missing.
    pub spec: Option<EventRecyclerSpec>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: EventRecyclerStatus,
}
