//! The volumes that are attached to a node. A VolumeAttachment exists until the volume is detached. A Node's
//! `status.volumesAttached` loses it earlier, so that list counts only for volumes without one. VolumeAttachments
//! cannot be selected by node, so one list serves all drains: calls during a list share the next one. It is kept only
//! as long as a call waits that can use it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use machinist_api::resource::{PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS};
use machinist_api::wire::VolumeAttachment;
use machinist_domain::key::ObjectKey;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::{ApiError, Session};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::kinds::Node;

/// CSI volumes have VolumeAttachments.
const CSI_PREFIX: &str = "kubernetes.io/csi/";

type ByNode = HashMap<String, Vec<Arc<str>>>;

#[derive(Debug)]
pub(super) struct Attachments {
    session: Session,
    clock: SharedClock,
    latest: Mutex<Option<Listing>>,
    /// Calls that wait for a list, or make one.
    calls: AtomicUsize,
}

/// One of the calls.
struct Call<'a>(&'a AtomicUsize);

impl<'a> Call<'a> {
    fn new(calls: &'a AtomicUsize) -> Self {
        calls.fetch_add(1, Ordering::Relaxed);
        Self(calls)
    }

    fn is_only_one(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Listing {
    asked: Duration,
    /// Errors are shared, too: otherwise all waiters would retry one after the other.
    attached: Result<Arc<ByNode>, ApiError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Claim {
    spec: ClaimSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimSpec {
    volume_name: String,
}

impl Attachments {
    pub(super) fn new(session: Session, clock: SharedClock) -> Self {
        Self { session, clock, latest: Mutex::default(), calls: AtomicUsize::new(0) }
    }

    /// Volumes attached to `node`, except those of the claims `kept`.
    pub(super) async fn of(
        &self,
        node: &Node,
        kept: BTreeSet<ObjectKey>,
    ) -> Result<Vec<Arc<str>>, ApiError> {
        let attached = self.by_node().await?;
        let mut volumes = attached.get(&*node.meta.key.name).cloned().unwrap_or_default();
        let older = node.volumes_attached.iter().filter(|name| !name.starts_with(CSI_PREFIX));
        volumes.extend(older.cloned());
        if !volumes.is_empty() {
            let kept = self.volumes_of(kept).await?;
            volumes.retain(|volume| !kept.contains(&**volume));
        }
        volumes.sort();
        Ok(volumes)
    }

    /// All attachments, from a list that was requested after this call.
    async fn by_node(&self) -> Result<Arc<ByNode>, ApiError> {
        let (wanted, call) = (self.clock.uptime(), Call::new(&self.calls));
        let mut latest = self.latest.lock().await;
        let usable = latest.take().filter(|listing| listing.asked >= wanted);
        let listing = if let Some(listing) = usable {
            listing
        } else {
            let asked = self.clock.uptime();
            Listing { asked, attached: self.list().await.map(Arc::new) }
        };
        let attached = listing.attached.clone();
        *latest = (!call.is_only_one()).then_some(listing);
        attached
    }

    async fn list(&self) -> Result<ByNode, ApiError> {
        let list = self.session.list_live::<VolumeAttachment>(VOLUME_ATTACHMENTS, None, "").await?;
        let mut attached = ByNode::new();
        for one in list {
            let volume = one.spec.source.persistent_volume_name.unwrap_or(one.metadata.name);
            attached.entry(one.spec.node_name).or_default().push(volume.into());
        }
        Ok(attached)
    }

    /// The volumes of these claims. Pods that stay on a node rarely have any.
    async fn volumes_of(&self, claims: BTreeSet<ObjectKey>) -> Result<BTreeSet<String>, ApiError> {
        let mut volumes = BTreeSet::new();
        for claim in claims {
            let selector = format!("metadata.name={}", claim.name);
            let namespace = Some(&*claim.namespace);
            let found = self
                .session
                .list_live::<Claim>(PERSISTENT_VOLUME_CLAIMS, namespace, &selector)
                .await?;
            volumes.extend(found.into_iter().map(|claim| claim.spec.volume_name));
        }
        Ok(volumes)
    }
}

#[cfg(test)]
mod tests {
    use machinist_runtime::clock::ManualClock;
    use machinist_runtime::cluster::Cluster;
    use machinist_runtime::timings::Timings;
    use machinist_runtime::user_agent::UserAgent;

    use super::*;

    #[tokio::test]
    async fn no_list_is_kept_after_the_last_call() {
        let clock: SharedClock = Arc::<ManualClock>::default();
        let cluster = Cluster::absent(&Timings::default()).unwrap();
        let attachments = Attachments::new(cluster.session(UserAgent::of("test")), clock);
        let (one, other) = tokio::join!(attachments.by_node(), attachments.by_node());
        assert!(one.is_err() && other.is_err(), "the cluster does not answer");
        assert!(attachments.latest.lock().await.is_none());
    }
}
