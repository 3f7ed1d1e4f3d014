//! Lists a kind, page by page, into the store. The first list fills it; later ones (the verify pass) repair it.
//!
//! A list without a version is answered consistently, from the latest state that a quorum agrees on. If that is older than what was known, the
//! cluster was restored from a backup: then nothing is taken in before the last page is there (`store::restored`).

use machinist_api::resource::push_encoded;
use machinist_api::wire::ListPage;
use machinist_domain::key::{ObjectKey, Version};

use super::Cache;
use super::decode::decode;
use super::kind::Kind;
use super::store::Listing;
use crate::cluster::ApiError;

/// Small pages keep the memory that a list takes small; a hundred objects are a quarter of a megabyte on the wire. Pages of 50 and 25 were
/// measured and save nothing more.
const PAGE: u32 = 100;

/// What is listed.
#[derive(Debug, Clone, Copy)]
enum Extent<'a> {
    /// All of the cache's scope.
    Everything,
    /// The objects of one namespace, which is in the scope, with certain labels.
    Selected { namespace: &'a str, labels: &'a str },
}

impl<K: Kind> Cache<K> {
    /// Lists everything once and makes the store agree with it. Returns how many objects had to be changed.
    pub async fn verify(&self) -> Result<usize, ApiError> {
        let mut listing = self.store.listing();
        let at = self.list_into(&mut listing, Extent::Everything).await?;
        self.store.listing_done(&mut listing, at);
        for key in std::mem::take(&mut listing.doubtful) {
            self.read_live(&key).await?;
            listing.repairs += 1;
        }
        self.heard();
        Ok(listing.repairs)
    }

    /// The same for the objects of one namespace that `labels` selects: whoever needs the truth about a few need not list all.
    ///
    /// Those of `known` that the list does not have are read one by one: each is gone, or is only not selected any more. Of other objects nothing is
    /// learned, so the position stays where it is.
    pub async fn verify_selected(
        &self,
        namespace: &str,
        labels: &str,
        known: &[ObjectKey],
    ) -> Result<(), ApiError> {
        self.metrics.live_read(K::RESOURCE);
        let (mut listing, position) = (self.store.listing(), self.store.position());
        let at = self.list_into(&mut listing, Extent::Selected { namespace, labels }).await?;
        if at < position {
            // The cluster was restored from a backup. To find that out is the business of a list of everything.
            return self.verify().await.map(drop);
        }
        let doubtful = std::mem::take(&mut listing.doubtful);
        let missing = known.iter().filter(|key| !listing.has(key)).cloned();
        for key in missing.chain(doubtful) {
            self.read_live(&key).await?;
        }
        self.heard();
        Ok(())
    }

    async fn list_into(
        &self,
        listing: &mut Listing<K::Stored>,
        extent: Extent<'_>,
    ) -> Result<Version, ApiError> {
        let mut next = String::new();
        let known = self.store.position();
        loop {
            let mut path = match extent {
                Extent::Everything => self.scope.path(K::RESOURCE),
                Extent::Selected { namespace, labels } => {
                    let mut path = K::RESOURCE.collection_path(Some(namespace));
                    path.push_str("?labelSelector=");
                    push_encoded(&mut path, labels);
                    path.push('&');
                    path
                }
            };
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
            if at < known && next.is_empty() && matches!(extent, Extent::Everything) {
                tracing::warn!(%at, %known, resource = %K::RESOURCE, "the cluster went back in time, learning everything anew");
                self.store.went_back(listing, known);
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

#[cfg(test)]
mod tests;
