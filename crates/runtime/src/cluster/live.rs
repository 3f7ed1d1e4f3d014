//! Live lists for rare and large reads, such as the pods of one Node: consistent, paged, counted, not cached.

use std::time::Duration;

use machinist_api::resource::{Resource, push_encoded};
use machinist_api::wire::ListPage;
use serde::de::DeserializeOwned;

use super::{ApiError, Session};

/// A Node has a few hundred pods at most; a page is half a megabyte.
const PAGE: u32 = 200;

impl Session {
    /// All objects that match `field_selector` (empty: all). An undecodable one is an error: it must not look absent.
    pub async fn list_live<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: Option<&str>,
        field_selector: &str,
    ) -> Result<Vec<T>, ApiError> {
        let mut path = format!("{}?limit={PAGE}", resource.collection_path(namespace));
        if !field_selector.is_empty() {
            path.push_str("&fieldSelector=");
            push_encoded(&mut path, field_selector);
        }
        let mut objects = Vec::new();
        let (timeout, metrics) = (self.request_timeout(), &self.cluster.metrics);
        metrics.live_read(resource);
        self.pages(&path, "application/json", timeout, |page| {
            if !page.metadata.next.is_empty() {
                metrics.live_read(resource);
            }
            for raw in page.items.unwrap_or_default() {
                objects.push(serde_json::from_str(raw.get())?);
            }
            Ok(())
        })
        .await?;
        Ok(objects)
    }

    /// Passes each page of a list to `take`. `path` has a query.
    pub(crate) async fn pages(
        &self,
        path: &str,
        accept: &'static str,
        timeout: Duration,
        mut take: impl FnMut(ListPage<'_>) -> Result<(), ApiError>,
    ) -> Result<(), ApiError> {
        let mut next = path.to_owned();
        loop {
            let body = self.get(&next, accept, timeout).await?;
            let page: ListPage<'_> = serde_json::from_slice(&body)?;
            let token = page.metadata.next.clone();
            take(page)?;
            if token.is_empty() {
                return Ok(());
            }
            next = format!("{path}&continue=");
            push_encoded(&mut next, &token);
        }
    }
}
