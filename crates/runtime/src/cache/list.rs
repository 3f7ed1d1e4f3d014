//! Lists a kind, page by page, into the store. The first list fills it; later ones (the verify pass) repair it.
//!
//! A list without a version is answered consistently, from the latest state that a quorum agrees on.

use machinist_api::resource::push_encoded;
use machinist_api::wire::ListPage;
use machinist_domain::key::Version;

use super::Cache;
use super::decode::decode;
use super::kind::Kind;
use super::store::Listing;
use crate::cluster::ApiError;

/// Small pages keep the memory that a list takes small; a hundred objects are a quarter of a megabyte on the wire. Pages of 50 and 25 were
/// measured and save nothing more.
const PAGE: u32 = 100;

impl<K: Kind> Cache<K> {
    /// Lists everything once and makes the store agree with it. Returns how many objects had to be changed.
    pub async fn verify(&self) -> Result<usize, ApiError> {
        let mut listing = self.store.listing();
        let at = self.list_into(&mut listing).await?;
        self.store.listing_done(&mut listing, at);
        for key in std::mem::take(&mut listing.doubtful) {
            self.read_live(&key).await?;
            listing.repairs += 1;
        }
        self.heard();
        Ok(listing.repairs)
    }

    async fn list_into(&self, listing: &mut Listing) -> Result<Version, ApiError> {
        let mut next = String::new();
        let known = self.store.position();
        loop {
            let mut path = self.scope.path(K::RESOURCE);
            path.push_str("limit=");
            path.push_str(&PAGE.to_string());
            if !next.is_empty() {
                path.push_str("&continue=");
                push_encoded(&mut path, &next);
            }
            let body = self.session.get(&path, accept_list::<K>(), self.timings.list_page).await?;
            let page: ListPage<'_> = serde_json::from_slice(&body)
                .map_err(|error| ApiError::NotUnderstood(error.to_string()))?;
            let at = Version::parse(&page.metadata.resource_version);
            // A consistent list is never older than what was known before it was asked for.
            if at < known && next.is_empty() {
                tracing::warn!(%at, %known, resource = %K::RESOURCE, "the cluster went back in time, forgetting everything");
                self.store.rewind();
            }
            for raw in page.items.unwrap_or_default() {
                match decode(&self.kind, raw) {
                    Ok(entry) => self.store.listed(listing, &entry, at),
                    Err(error) => return Err(ApiError::NotUnderstood(error)),
                }
            }
            if page.metadata.next.is_empty() {
                return Ok(at);
            }
            next = page.metadata.next;
        }
    }
}

fn accept_list<K: Kind>() -> &'static str {
    if K::METADATA_ONLY {
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    } else {
        "application/json"
    }
}
