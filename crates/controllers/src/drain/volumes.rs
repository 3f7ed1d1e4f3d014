//! Which volumes are still attached to a node.
//!
//! A VolumeAttachment stays until the volume is really off; `status.volumesAttached` of a Node loses it before that, so it only counts for the
//! volumes that have no VolumeAttachment. VolumeAttachments cannot be selected by node, so the list of all of them is shared: everybody
//! who asks while one is being read gets the next one, and that serves all.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use machinist_api::resource::{PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS};
use machinist_api::wire::VolumeAttachment;
use machinist_domain::key::ObjectKey;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::{ApiError, Session};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::snapshot::Node;

/// Volumes of the Container Storage Interface, which have VolumeAttachments.
const CSI_PREFIX: &str = "kubernetes.io/csi/";

/// The names of attached volumes, by node.
type ByNode = HashMap<String, Vec<Arc<str>>>;

/// Finds out which volumes are attached.
#[derive(Debug)]
pub(super) struct Attachments {
    session: Session,
    clock: SharedClock,
    latest: Mutex<Option<Listing>>,
}

#[derive(Debug)]
struct Listing {
    /// When it was asked for.
    asked: Duration,
    /// A failure is shared, too: otherwise all who wait would ask a server that does not answer, one after the other.
    attached: Result<Arc<ByNode>, ApiError>,
}

/// A PersistentVolumeClaim, as far as it says which volume it got.
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
        Self { session, clock, latest: Mutex::default() }
    }

    /// The volumes that are attached to `node`, apart from those of the claims `kept`.
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

    /// All attachments, from a list that was asked for after this call.
    async fn by_node(&self) -> Result<Arc<ByNode>, ApiError> {
        let wanted = self.clock.uptime();
        let mut latest = self.latest.lock().await;
        if let Some(listing) = latest.as_ref().filter(|listing| listing.asked >= wanted) {
            return listing.attached.clone();
        }
        let asked = self.clock.uptime();
        let attached = self.list().await.map(Arc::new);
        *latest = Some(Listing { asked, attached: attached.clone() });
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

    /// The volumes that these claims got. Pods that stay on a node hardly ever have any.
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
