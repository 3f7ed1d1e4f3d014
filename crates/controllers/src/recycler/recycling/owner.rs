//! Whoever wants a recycle, and the live read of an EventRecycler directly before the cloud is changed.

use std::fmt::Debug;
use std::sync::Arc;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::Pending;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

use crate::kinds::{EventRecycler, EventRecyclers};

/// Whoever wants a recycle.
pub trait Owner: Debug + Send + Sync {
    /// Who that is, for audit lines.
    fn key(&self) -> ObjectKey;

    /// Whether it still wants exactly this, read live. Asked directly before the cloud is changed.
    fn still_wants<'a>(&'a self, recycle: &'a Recycle) -> Pending<'a, Result<bool, Failure>>;
}

/// An EventRecycler that wants a recycle.
#[derive(Debug)]
pub struct Recycler {
    recyclers: Arc<Cache<EventRecyclers>>,
    meta: Meta,
}

impl Recycler {
    /// The one of this identity.
    pub fn new(recyclers: Arc<Cache<EventRecyclers>>, meta: Meta) -> Self {
        Self { recyclers, meta }
    }
}

impl Owner for Recycler {
    fn key(&self) -> ObjectKey {
        self.meta.key.clone()
    }

    fn still_wants<'a>(&'a self, recycle: &'a Recycle) -> Pending<'a, Result<bool, Failure>> {
        Box::pin(async move {
            let entry = self.recyclers.read_live(&self.meta.key).await;
            Ok(match entry.map_err(|error| error.failure())? {
                Some(Entry::Known(found)) => {
                    found.meta.uid == self.meta.uid && wants(&found, recycle)
                }
                Some(Entry::Undecodable(_)) | None => false,
            })
        })
    }
}

/// Whether the recycle is stored as it is here. What is said about it does not matter.
fn wants(recycler: &EventRecycler, recycle: &Recycle) -> bool {
    let dry_run = recycler.spec.as_ref().and_then(|spec| spec.dry_run).unwrap_or_default();
    let stored = recycler.status.recycles.iter().flatten();
    let same = |stored: &Recycle| Recycle { message: recycle.message.clone(), ..stored.clone() };
    !dry_run && stored.into_iter().any(|stored| same(stored) == *recycle)
}
