//! What it writes: `/scale`, and the mark on Machines.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{Autoscaler, Instance, NodeGroup};
use crate::world::reading::is_alive;

const DELETE_MACHINE: &str = "machine.openshift.io/delete-machine";

impl Autoscaler<'_> {
    pub async fn increase(&self, group: &NodeGroup, delta: i64) -> Result<()> {
        ensure!(delta > 0, "size increase must be positive");
        let size = self.size(group).await? + delta;
        ensure!(size <= group.max, "the core never exceeds the maximum");
        self.set_size(group, size).await
    }

    /// Gives up requests that have no node yet.
    pub async fn decrease_target(&self, group: &NodeGroup, delta: i64) -> Result<()> {
        let size = self.size(group).await? - delta;
        let nodes = self.instances(group).await?;
        let nodes = nodes.iter().filter(|one| matches!(one, Instance::Running(_))).count();
        ensure!(size >= i64::try_from(nodes)?, "attempt to delete existing nodes");
        self.set_size(group, size).await
    }

    /// Marks the Machine of each Node, and scales down by one for each. The Nodes were drained.
    pub async fn delete_nodes(&self, group: &NodeGroup, nodes: &[Node]) -> Result<()> {
        let mut size = self.size(group).await?;
        for node in nodes {
            let actual = self.group_of(node).await?.context("no node group found")?;
            let same = (actual.kind, &actual.name) == (group.kind, &group.name);
            ensure!(same, "{} belongs to {}", node.name_any(), actual.name);
        }
        let count = i64::try_from(nodes.len())?;
        ensure!(size > group.min && size - count >= group.min, "min size reached");
        for node in nodes {
            let machine = self.machine_of(node).await?.context("unknown machine")?;
            if !is_alive(&machine) {
                continue;
            }
            self.mark(&machine.name_any(), Some("2026-01-01 00:00:00 +0000 UTC")).await?;
            if let Err(error) = self.set_size(group, size - 1).await {
                self.mark(&machine.name_any(), None).await?;
                return Err(error);
            }
            size -= 1;
        }
        Ok(())
    }

    /// The original updates the whole Machine, and repeats that after a conflict.
    async fn mark(&self, machine: &str, value: Option<&str>) -> Result<()> {
        let machines = self.world.machines();
        self.world
            .eventually("the mark to be stored", || async {
                let mut object: DynamicObject = machines.get(machine).await?;
                match value {
                    Some(value) => {
                        object.annotations_mut().insert(DELETE_MACHINE.into(), value.into())
                    }
                    None => object.annotations_mut().remove(DELETE_MACHINE),
                };
                machines.replace(machine, &PostParams::default(), &object).await?;
                Ok(())
            })
            .await
    }

    async fn size(&self, group: &NodeGroup) -> Result<i64> {
        let scale = self.objects(group.kind).get_scale(&group.name).await?;
        // A Scale omits zero.
        Ok(scale.spec.and_then(|spec| spec.replicas).unwrap_or_default().into())
    }

    async fn set_size(&self, group: &NodeGroup, size: i64) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
        self.objects(group.kind).patch_scale(&group.name, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}
