//! Leases between real processes: [`takeover`] after kill -9 and after a pause, [`stopping`] on SIGTERM, [`forged`]
//! times in the Lease, and [`trouble`] with the API server.

mod forged;
mod stopping;
mod takeover;
mod trouble;

use anyhow::{Context, Result, ensure};
use machinist_testbed::poll;

use crate::processes::support::replica::Replica;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::AnnotatorWorld;

/// Replicas of one Deployment.
struct Group(Vec<Replica>);

impl Group {
    /// Starts replicas and waits until all are ready.
    async fn start(world: &AnnotatorWorld, count: usize, lease: &str) -> Result<Self> {
        let starts = (0..count).map(|_| Replica::electing(world, lease, &[]));
        let replicas = futures::future::try_join_all(starts).await?;
        for replica in &replicas {
            replica.process.wait_ready().await?;
        }
        Ok(Self(replicas))
    }

    /// Waits until exactly one leads and the Lease names it, and returns the leader and the rest.
    async fn split(self, world: &AnnotatorWorld) -> Result<(Replica, Vec<Replica>)> {
        let mut replicas = self.0;
        let leader = poll::eventually(PATIENCE, "one leader", || async {
            let mut leaders = Vec::new();
            for (index, replica) in replicas.iter().enumerate() {
                if replica.leads().await? {
                    leaders.push(index);
                }
            }
            let [leader] = leaders[..] else { anyhow::bail!("{} leaders", leaders.len()) };
            let (holder, _) = world.lease().await?;
            ensure!(replicas[leader].process.is_called(&holder), "the Lease names {holder}");
            Ok(leader)
        })
        .await
        .context("among replicas")?;
        let leader = replicas.swap_remove(leader);
        Ok((leader, replicas))
    }
}
