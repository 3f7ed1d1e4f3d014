//! Lists a kind, page by page, into the store. The first list fills it; later ones (the resync) correct it.
//!
//! A list without a resourceVersion is consistent. If it is older than the store, the cluster was restored from a
//! backup: then the pages are collected and stored at once (`store::restored`).

use machinist_api::resource::push_encoded;
use machinist_api::wire::ListPage;
use machinist_domain::key::{ObjectKey, Version};

use super::Cache;
use super::decode::decode;
use super::kind::Kind;
use super::store::Listing;
use crate::cluster::ApiError;

/// Small pages save memory; a hundred objects are 250 KiB. Pages of 50 and 25 were measured and save nothing more.
const PAGE: u32 = 100;

/// What to list.
#[derive(Debug, Clone, Copy)]
enum Extent<'a> {
    /// The whole scope.
    Everything,
    /// The objects of one namespace with these labels.
    Selected { namespace: &'a str, labels: &'a str },
}

impl<K: Kind> Cache<K> {
    /// Lists everything and corrects the store. Returns how many objects changed.
    pub async fn verify(&self) -> Result<usize, ApiError> {
        let mut listing = self.store.listing();
        let at = self.list_into(&mut listing, Extent::Everything).await?;
        self.store.listing_done(&mut listing, at);
        for key in std::mem::take(&mut listing.unconfirmed) {
            self.read_live(&key).await?;
            listing.repairs += 1;
        }
        self.heard();
        Ok(listing.repairs)
    }

    /// Lists the objects of one namespace that `labels` selects. Those of `known` that are missing from the list are
    /// read live: deleted, or no longer selected. The position of the store stays.
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
            // Only a list of everything can detect a restored cluster.
            return self.verify().await.map(drop);
        }
        let unconfirmed = std::mem::take(&mut listing.unconfirmed);
        let missing = known.iter().filter(|key| !listing.has(key)).cloned();
        for key in missing.chain(unconfirmed) {
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
            // A consistent list is never older than what was known before it was requested.
            if at < known && next.is_empty() && matches!(extent, Extent::Everything) {
                tracing::warn!(%at, %known, resource = %K::RESOURCE, "resourceVersion regressed; relisting");
                self.store.regressed(listing, known);
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
