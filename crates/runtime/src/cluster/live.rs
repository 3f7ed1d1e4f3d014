//! Live lists for rare and large reads, such as the pods of one Node: consistent, paged, counted, not cached.

use machinist_api::resource::{Resource, push_encoded};
use machinist_api::wire::ListPage;
use serde::de::DeserializeOwned;

use super::{ApiError, Session};

/// A Node has a few hundred pods at most; a page is half a megabyte.
const PAGE: u32 = 200;

impl Session {
    /// All objects that match `field_selector` (empty: all), in one or all namespaces. An undecodable object is an
    /// error: it must not look absent.
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
