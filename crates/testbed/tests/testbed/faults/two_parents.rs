//! The story that the toy controller is tried with.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use machinist_testbed::{World, crash::Scenario, faults::ApiRequest};
use serde_json::{Value, json};

/// Two parents are created, one is changed, the other one deleted.
pub(crate) struct TwoParents {
    /// Whether writes to children with random names are recognised in another run.
    pub(crate) knows_children: bool,
}

impl TwoParents {
    async fn create(world: &World, name: &str) -> Result<()> {
        let parent = serde_json::from_value(json!({
            "metadata": { "name": name, "labels": { "toy": "parent" } },
            "data": { "a": "1" },
        }))?;
        world.api::<ConfigMap>().create(&PostParams::default(), &parent).await?;
        Ok(())
    }

    async fn done(world: &World, name: &str, value: &str) -> Result<()> {
        let api = world.api::<ConfigMap>();
        let check = || async {
            let parent = api.get(name).await?;
            let done = parent.annotations().get("toy/done");
            ensure!(done.map(String::as_str) == Some(value), "toy/done is {done:?}");
            Ok(())
        };
        world.eventually(&format!("{name} to be done with {value}"), check).await
    }
}

impl Scenario for TwoParents {
    fn name(&self) -> &'static str {
        "two-parents"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let api: Api<ConfigMap> = world.api();
        for name in ["red", "blue"] {
            Self::create(world, name).await?;
        }
        for name in ["red", "blue"] {
            Self::done(world, name, "1").await?;
        }
        let change = Patch::Merge(json!({ "data": { "a": "2" } }));
        api.patch("red", &PatchParams::default(), &change).await?;
        Self::done(world, "red", "2").await?;
        api.delete("blue", &DeleteParams::default()).await?;
        let check = || async {
            let left =
                api.list(&ListParams::default().labels("toy/parent=blue")).await?.items.len();
            ensure!(left == 0, "{left} children are left");
            Ok(())
        };
        world.eventually("blue's children to be gone", check).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        world.state_of(&[ApiResource::erase::<ConfigMap>(&())]).await
    }

    fn label(&self, request: &ApiRequest) -> String {
        let name = request.name.clone().unwrap_or_default();
        match name.split_once('-') {
            Some((parent, random)) if self.knows_children && random != "child" => {
                format!("{parent}-*")
            }
            _ => name,
        }
    }
}
