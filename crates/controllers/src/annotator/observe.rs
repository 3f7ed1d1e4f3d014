//! Gathers a snapshot: from the cache, or live where an answer about this object was lost.

use machinist_domain::key::ObjectKey;
use machinist_domain::shape::Capacity;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;

use super::snapshot::{Content, Snapshot};
use crate::kinds::MachineSets;

pub(super) async fn observe(
    sets: &Cache<MachineSets>,
    catalogue: fn(&str) -> Option<Capacity>,
    key: &ObjectKey,
) -> Result<Option<Snapshot>, ApiError> {
    let Some(entry) = sets.get_certain(key).await? else {
        return Ok(None);
    };
    let meta = entry.meta().clone();
    let content = match entry {
        Entry::Undecodable(object) => Content::Undecodable(object.error.clone()),
        Entry::Known(set) => {
            let shape = set.shape.as_ref().ok();
            let capacity = shape.and_then(|shape| catalogue(&shape.instance_type));
            Content::Read { set, capacity }
        }
    };
    Ok(Some(Snapshot { meta, content }))
}
