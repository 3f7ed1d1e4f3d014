//! What `--once` shows of the fleet: it grows, shrinks, heals and goes, and nothing is left behind.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Fleet;
use crate::verbs::playground::{PATIENCE, say};

impl Fleet {
    /// Does what a user would do, and returns when all of it has come true.
    pub(in super::super) async fn prove(&self) -> anyhow::Result<()> {
        let first = self.wait_for(self.size, "the fleet to run").await?;
        say(&self.table(true).await?)?;
        say(&format!("proved: {} machines run, each with an instance and a node", first.len()))?;

        self.scale(self.size + 2).await?;
        self.wait_for(self.size + 2, "the fleet to grow").await?;
        self.scale(self.size).await?;
        let before = self.wait_for(self.size, "the fleet to shrink").await?;
        say("proved: scaled up by two and down again")?;

        if let Some(victim) = before.first() {
            self.delete(victim).await?;
            self.wait_until("a replacement", self.size, |now| !now.contains(victim)).await?;
            say(&format!("proved: {victim} was deleted, drained and replaced"))?;
        }

        self.scale(0).await?;
        self.wait_for(0, "the fleet to go").await?;
        let left = (self.cloud.sim.live(), self.cloud.sim.volumes());
        anyhow::ensure!(
            left == (0, 0),
            "left in the cloud: {} instances, {} volumes",
            left.0,
            left.1
        );
        let created = self.cloud.sim.created();
        say(&format!(
            "proved: scaled to zero; of {created} instances and their volumes nothing is left"
        ))
    }

    async fn wait_for(&self, count: u32, what: &str) -> anyhow::Result<BTreeSet<String>> {
        self.wait_until(what, count, |_| true).await
    }

    /// Waits until exactly `count` machines run, nothing else is there, and `right` holds for their names.
    async fn wait_until(
        &self,
        what: &str,
        count: u32,
        right: impl Fn(&BTreeSet<String>) -> bool,
    ) -> anyhow::Result<BTreeSet<String>> {
        let began = tokio::time::Instant::now();
        loop {
            if let Some(running) = self.settled().await?
                && u32::try_from(running.len()) == Ok(count)
                && right(&running)
            {
                return Ok(running);
            }
            if began.elapsed() > PATIENCE {
                let table = self.table(true).await?;
                anyhow::bail!("waited {PATIENCE:?} for {what}; there is:\n{table}");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
