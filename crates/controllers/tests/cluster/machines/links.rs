//! Machines and Nodes find each other, with nodelink alone: no other write would requeue it.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::node_of;
use serde_json::json;

use crate::fixture::Fixture;
use crate::machines::world::{PATIENCE, spec};

on_both_definitions! {
    crate::machines::world::start =>
    a_node_that_waited_for_another_one_is_linked_when_that_goes,
    what_the_api_server_does_not_take_is_told_on_the_node,
}

/// A Node on the instance of the test's machine.
async fn register(world: &Fixture, name: &str) -> Result<String> {
    let name = format!("{}-{name}", world.namespace);
    let id = format!("test:///{}", world.namespace);
    let node: Node =
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"providerID": id}}))?;
    world.nodes().create(&PostParams::default(), &node).await?;
    Ok(name)
}

async fn until_reported(world: &Fixture, node: &str) -> Result<String> {
    let events = Api::<Event>::all(world.client.clone());
    eventually(PATIENCE, "an Event about the node", || async {
        let all = events.list(&ListParams::default().fields("reason=NodeNotLinked")).await?;
        let about = |event: &Event| {
            event.regarding.as_ref().and_then(|it| it.name.as_deref()) == Some(node)
        };
        let found = all.items.into_iter().find(about).context("none yet")?;
        Ok(found.note.unwrap_or_default())
    })
    .await
}

fn linked(machine: &kube::api::DynamicObject, node: &str) -> bool {
    node_of(machine) == node
}

/// The machine does not change when its Node goes, so only the deletion of the Node requeues it.
async fn a_node_that_waited_for_another_one_is_linked_when_that_goes(world: Fixture) -> Result<()> {
    let process = world.run_only(&["nodelink"])?;
    let id = format!("test:///{}", world.namespace);
    let machine = json!({"providerID": id, "providerSpec": {"value": spec(&json!({}))}});
    world.create_with("m", machine, json!({})).await?;
    let first = register(&world, "a").await?;
    world.until_machine("m", "the first node is linked", |machine| linked(machine, &first)).await?;
    let second = register(&world, "b").await?;
    let note = until_reported(&world, &second).await?;
    assert!(note.contains(&first), "{note}");
    world.nodes().delete(&first, &DeleteParams::default()).await?;
    world
        .until_machine("m", "the second node is linked", |machine| linked(machine, &second))
        .await?;
    world.nodes().delete(&second, &DeleteParams::default()).await?;
    process.stop().await;
    Ok(())
}

async fn what_the_api_server_does_not_take_is_told_on_the_node(world: Fixture) -> Result<()> {
    let process = world.run_only(&["nodelink"])?;
    let id = format!("test:///{}", world.namespace);
    let metadata = json!({"labels": {"tier": "not a label value!"}});
    let value = json!({"value": spec(&json!({}))});
    let machine = json!({"providerID": id, "metadata": metadata, "providerSpec": value});
    world.create_with("m", machine, json!({})).await?;
    let node = register(&world, "n").await?;
    let event = until_reported(&world, &node).await?;
    assert!(event.contains("tier") || event.contains("not a label value!"), "{event}");
    world.patch_machine("m", json!({"spec": {"metadata": null}})).await?;
    let annotated = eventually(PATIENCE, "the node knows its machine", || async {
        let node = world.nodes().get(&node).await?;
        let named = node.metadata.annotations.unwrap_or_default();
        ensure!(named.contains_key("machine.openshift.io/machine"), "{named:?}");
        Ok(())
    });
    annotated.await?;
    world.nodes().delete(&node, &DeleteParams::default()).await?;
    process.stop().await;
    Ok(())
}
