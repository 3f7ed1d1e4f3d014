//! Lists that are read past the caches: what is needed rarely and is large, such as the pods of one node.
//!
//! Consistent, page by page, and counted. Not here: keeping anything; one object that is in a cache (`cache::live`).

use machinist_api::resource::{Resource, push_encoded};
use machinist_api::wire::ListPage;
use serde::de::DeserializeOwned;

use super::{ApiError, Session};

/// A node has a few hundred pods at most; this many are half a megabyte on the wire.
const PAGE: u32 = 200;

impl Session {
    /// Every object for which `field_selector` holds (empty: all), in one namespace or in all. An object that is not understood is an
    /// error: it must not look as if it were absent.
    pub async fn list_live<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: Option<&str>,
        field_selector: &str,
    ) -> Result<Vec<T>, ApiError> {
        let not_understood = |error: serde_json::Error| ApiError::NotUnderstood(error.to_string());
        let mut first = format!("{}?limit={PAGE}", resource.collection_path(namespace));
        if !field_selector.is_empty() {
            first.push_str("&fieldSelector=");
            push_encoded(&mut first, field_selector);
        }
        let mut objects = Vec::new();
        let mut path = first.clone();
        loop {
            self.count_live_read(resource);
            let body = self.get(&path, "application/json", self.request_timeout()).await?;
            let page: ListPage<'_> = serde_json::from_slice(&body).map_err(not_understood)?;
            for raw in page.items.unwrap_or_default() {
                objects.push(serde_json::from_str(raw.get()).map_err(not_understood)?);
            }
            if page.metadata.next.is_empty() {
                return Ok(objects);
            }
            path.clone_from(&first);
            path.push_str("&continue=");
            push_encoded(&mut path, &page.metadata.next);
        }
    }
}
