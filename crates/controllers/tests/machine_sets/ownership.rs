//! What `docs/ownership.md` says of the controller is what the API server saw, neither more nor less.

use anyhow::{Result, ensure};
use kube::api::DeleteParams;
use machinist_testbed::ownership;
use machinist_testbed::poll::eventually;
use serde_json::json;

use crate::status::make_ready;
use crate::world::{PATIENCE, World, timings};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ownership.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_writes_what_the_docs_say() -> Result<()> {
    let control_plane = ownership::control_plane().await?;
    let world = World::on_new(&control_plane, "ownership").await?;
    let process = world.run_with(&timings(), None).await?;
    // One that is adopted, two that are made; one of them is released, and replaced.
    world.create_machine("orphan", "workers", json!([])).await?;
    world.create_set("workers", 3, json!({"minReadySeconds": 1})).await?;
    world.until_settled("workers").await?;
    let names = world.until_alive(3).await?;
    make_ready(&world, "orphan").await?;
    world.patch_machine(&names[1], json!({"metadata": {"labels": {"set": "mine"}}})).await?;
    world.until_alive(4).await?;
    let ready = |set: &kube::core::DynamicObject| set.data["status"]["availableReplicas"] == 1;
    world.until("workers", "one is available", ready).await?;
    world.scale("workers", 1).await?;
    world.until_settled("workers").await?;
    // One that is wrong, and is mended.
    world.create_set("wrong", 1, json!({"selector": {"matchLabels": {"a": "b"}}})).await?;
    let wrong = |set: &kube::core::DynamicObject| set.data["status"]["errorReason"].is_string();
    world.until("wrong", "it says so", wrong).await?;
    let labels = json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}});
    world.patch_set("wrong", labels).await?;
    world.until_settled("wrong").await?;
    world.sets().delete("wrong", &DeleteParams::default()).await?;
    drop(process);

    let document = std::fs::read_to_string(DOCUMENT)?;
    let claims = ownership::claims(&document, "machineset")?;
    // The log comes a moment after the effect.
    eventually(PATIENCE, "the docs to be what happens", || async {
        let log = control_plane.audit().read_new()?;
        let ours = ownership::touches(&log, |entry| entry.user_agent.starts_with("machinist-"));
        ensure!(!ours.is_empty(), "nothing was written");
        ownership::compare(&claims, &ours)
    })
    .await
}
