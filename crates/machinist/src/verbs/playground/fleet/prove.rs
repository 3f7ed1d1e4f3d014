//! The proof of `--once`: scale up and down, replace a machine, roll, roll back, scale to zero, leave nothing behind.
//! Where instances die: they are replaced.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::json;

use super::{FIRST_TYPE, Fleet, NAME, OTHER_TYPE, view};
use crate::cli::FailMode;
use crate::verbs::playground::{NAMESPACE, PATIENCE, messages, print};
use crate::verbs::rollout;
use crate::verbs::rollout::arguments::RolloutArguments;

impl Fleet {
    pub(in super::super) async fn prove(&self, fail: Option<FailMode>) -> anyhow::Result<()> {
        let first = self.wait_for(self.size, "the fleet to run").await?;
        print(&self.table(true).await?)?;
        print(&messages::running_proved(first.len()))?;
        if fail == Some(FailMode::Dies) {
            self.prove_remediation(&first).await?;
            return self.prove_end().await;
        }

        self.scale(self.size + 2).await?;
        self.wait_for(self.size + 2, "the fleet to grow").await?;
        self.scale(self.size).await?;
        let before = self.wait_for(self.size, "the fleet to shrink").await?;
        print(messages::SCALED)?;

        if let Some(victim) = before.first() {
            let pod = self.run_pod(victim).await?;
            let deleted = self.machines.delete(victim, &DeleteParams::default()).await;
            deleted.with_context(|| messages::cannot("delete", "Machine", victim))?;
            self.wait_until("a replacement", self.size, |now| !now.contains(victim)).await?;
            let left = self.pods.get_opt(&pod).await?;
            anyhow::ensure!(left.is_none(), messages::pod_left(&pod));
            print(&messages::replaced(victim))?;
        }

        self.prove_rollout().await?;
        self.prove_end().await
    }

    async fn prove_end(&self) -> anyhow::Result<()> {
        self.scale(0).await?;
        self.wait_for(0, "the fleet to go").await?;
        let (instances, volumes) = (self.cloud.sim.live(), self.cloud.sim.volumes());
        anyhow::ensure!((instances, volumes) == (0, 0), messages::leaked(instances, volumes));
        print(&messages::nothing_left(self.cloud.sim.created()))
    }

    /// The instances of these machines die, and the health check has each replaced. Others die meanwhile.
    async fn prove_remediation(&self, first: &BTreeSet<String>) -> anyhow::Result<()> {
        let began = tokio::time::Instant::now();
        loop {
            let machines = self.machines.list(&ListParams::default()).await?.items;
            let left = machines.iter().filter(|one| first.contains(&one.name_any())).count();
            if left == 0 && machines.iter().any(view::is_running) {
                return print(&messages::remediated(first.len()));
            }
            if began.elapsed() > PATIENCE {
                let table = self.table(true).await?;
                anyhow::bail!(messages::timed_out(
                    PATIENCE,
                    "dead machines to be replaced",
                    &table
                ));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A pod on the machine's Node, which a drain evicts. Its name is returned.
    async fn run_pod(&self, machine: &str) -> anyhow::Result<String> {
        let found = self.machines.get(machine).await?;
        let node = found.status.and_then(|status| status.node_ref).and_then(|node| node.name);
        let name = format!("on-{machine}");
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "nodeName": node, "automountServiceAccountToken": false,
                "containers": [{"name": "app", "image": "app"}],
            },
        }))?;
        let created = self.pods.create(&PostParams::default(), &pod).await;
        created.with_context(|| messages::cannot("create", "Pod", &name))?;
        Ok(name)
    }

    /// To another type, and back by the verb `rollout`. Each time every machine is replaced.
    async fn prove_rollout(&self) -> anyhow::Result<()> {
        let old = self.wait_for(self.size, "the fleet to settle").await?;
        self.resize(OTHER_TYPE).await?;
        let new = self.wait_until("the rollout", self.size, |now| now.is_disjoint(&old)).await?;
        self.only(OTHER_TYPE).await?;
        print(&messages::rolled(new.len(), OTHER_TYPE))?;

        let undo = RolloutArguments::undo(NAME, NAMESPACE, &self.kubeconfig);
        rollout::run(&undo).await?;
        self.wait_until("the rollback", self.size, |now| now.is_disjoint(&new)).await?;
        self.only(FIRST_TYPE).await?;
        print(&messages::rolled_back(FIRST_TYPE))
    }

    async fn only(&self, instance_type: &str) -> anyhow::Result<()> {
        let types = self.types().await?;
        let is_only = types.iter().all(|one| one == instance_type);
        anyhow::ensure!(is_only, messages::other_types(instance_type, &types));
        Ok(())
    }

    async fn wait_for(&self, count: u32, what: &str) -> anyhow::Result<BTreeSet<String>> {
        self.wait_until(what, count, |_| true).await
    }

    /// Waits until exactly `count` machines are Running, nothing else exists, and `right` holds for their names.
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
                anyhow::bail!(messages::timed_out(PATIENCE, what, &table));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
