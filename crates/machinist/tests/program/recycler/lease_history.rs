//! The Lease of the recycler as it was at every moment: each version of it, as a watch delivers them, by the times that
//! its holders wrote.
//!
//! Out: every change of hands, and for how long there was no leader. Not here: bounds.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::world::{LEASE, LEASE_NAMESPACE, PATIENCE};

/// All that is known of the Lease since the history began.
pub(crate) struct LeaseHistory {
    versions: watch::Receiver<Vec<Version>>,
    _stop: DropGuard,
}

#[derive(Debug, Clone)]
struct Version {
    /// Empty where it has no holder.
    holder: String,
    acquired: Timestamp,
    renewed: Timestamp,
}

/// A change of hands.
#[derive(Debug, Clone)]
pub(crate) struct Handover {
    /// Whether the former holder gave it back.
    pub(crate) clean: bool,
    /// The last that the former holder wrote: that it renewed the Lease, or that it gave it back.
    pub(crate) since: Timestamp,
    /// When the next holder took it.
    pub(crate) at: Timestamp,
}

impl Handover {
    /// For how long nothing was heard of any holder.
    pub(crate) fn gap(&self) -> Duration {
        between(self.since, self.at)
    }
}

/// How long after `from` it was at `to`; nothing if it was before.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

impl LeaseHistory {
    /// Begins with the Lease as it is now, if there is one.
    pub(crate) fn begin(client: &Client) -> Self {
        let (news, versions) = watch::channel(Vec::new());
        let leases = Api::namespaced(client.clone(), LEASE_NAMESPACE);
        let listen = async move {
            let mut from = "0".to_owned();
            loop {
                if let Err(error) = listen(&leases, &mut from, &news).await {
                    // What is missed makes a gap look longer, never shorter.
                    println!("the history of the Lease has a hole: {error:#}");
                    "0".clone_into(&mut from);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        };
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(listen));
        Self { versions, _stop: stop.drop_guard() }
    }

    /// Every change of hands so far.
    pub(crate) fn handovers(&self) -> Vec<Handover> {
        handovers(&self.versions.borrow())
    }

    /// The first change of hands after `seen` others, once it has happened.
    pub(crate) async fn handover_after(&self, seen: usize) -> Result<Handover> {
        let mut versions = self.versions.clone();
        let happened = versions.wait_for(|versions| handovers(versions).len() > seen);
        let versions = tokio::time::timeout(PATIENCE, happened).await.context("no leader")??;
        handovers(&versions).into_iter().nth(seen).context("a change of hands")
    }
}

fn handovers(versions: &[Version]) -> Vec<Handover> {
    let changes = versions.windows(2).filter_map(|pair| {
        let [before, after] = pair else { return None };
        let taken = !after.holder.is_empty() && after.holder != before.holder;
        let clean = before.holder.is_empty();
        taken.then_some(Handover { clean, since: before.renewed, at: after.acquired })
    });
    changes.collect()
}

async fn listen(
    leases: &Api<Lease>,
    from: &mut String,
    news: &watch::Sender<Vec<Version>>,
) -> Result<()> {
    let only = WatchParams::default().fields(&format!("metadata.name={LEASE}"));
    let mut events = pin!(leases.watch(&only, from).await?);
    while let Some(event) = events.next().await {
        match event? {
            WatchEvent::Added(lease) | WatchEvent::Modified(lease) => {
                *from = lease.resource_version().context("a version")?;
                let version = Version::read(lease)?;
                news.send_modify(|versions| versions.push(version));
            }
            WatchEvent::Bookmark(mark) => from.clone_from(&mark.metadata.resource_version),
            WatchEvent::Deleted(_) => bail!("it was deleted"),
            WatchEvent::Error(status) => bail!("{status:?}"),
        }
    }
    Ok(())
}

impl Version {
    fn read(lease: Lease) -> Result<Self> {
        let spec = lease.spec.context("a Lease has a spec")?;
        Ok(Self {
            holder: spec.holder_identity.unwrap_or_default(),
            acquired: spec.acquire_time.context("when it was taken")?.0,
            renewed: spec.renew_time.context("when it was renewed")?.0,
        })
    }
}
