//! Problems are reported in conditions and Events, and cleared when they are over.

use anyhow::Result;
use machinist_control_plane::ControlPlane;
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::world::reading::{condition, condition_of, message};
use serde_json::{Value, json};

use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::machine_sets::world;

on_both_definitions! {
    crate::machine_sets::world::start =>
    a_set_that_is_not_valid_says_so_and_is_tried_again_when_it_is_edited,
    creation_that_is_refused_is_told_tried_gently_and_goes_on,
    a_record_of_ordinals_that_nobody_understands_stops_counting,
    blocked_machines_are_explained_on_their_set,
}

async fn a_set_that_is_not_valid_says_so_and_is_tried_again_when_it_is_edited(
    world: Fixture,
) -> Result<()> {
    let _process = world.run()?;
    let selector = json!({"matchLabels": {"set": "something-else"}});
    world.create_sized_set("workers", 2, json!({"selector": selector})).await?;
    let set = world
        .until_set("workers", "it says so", |set| {
            condition_of(set, "ReplicaFailure")["status"] == "True"
        })
        .await?;
    let failure = condition_of(&set, "ReplicaFailure");
    assert_eq!(failure["reason"], "InvalidConfiguration");
    assert_eq!(set.data["status"]["errorReason"], "InvalidConfiguration");
    let text = "spec.selector set=something-else does not match the labels in spec.template.metadata.labels";
    assert_eq!(
        (&failure["message"], &set.data["status"]["errorMessage"]),
        (&json!(text), &json!(text))
    );
    assert_eq!(world.until_event("workers", "ReconcileError").await?, text);
    assert_eq!(set.data["status"].get("observedGeneration"), None, "nothing was done about it");
    assert_eq!(world.alive_machines().await?.len(), 0);
    let labels = json!({"set": "something-else"});
    world
        .patch_set("workers", json!({"spec": {"template": {"metadata": {"labels": labels}}}}))
        .await?;
    let set = world.until_settled("workers").await?;
    assert_eq!(*condition_of(&set, "ReplicaFailure"), json!(null));
    assert_eq!(set.data["status"].get("errorReason"), None);
    world.until_alive(2).await?;
    Ok(())
}

async fn creation_that_is_refused_is_told_tried_gently_and_goes_on(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    let creations = Match::any().verbs([Verb::Create]).resource("machines");
    world.proxy.add_rule(Rule::new(creations.clone(), Effect::answer(403)));
    world.create_sized_set("workers", 40, json!({})).await?;
    let set = world
        .until_set("workers", "it says so", |set| {
            condition_of(set, "ReplicaFailure")["status"] == "True"
        })
        .await?;
    assert_eq!(condition_of(&set, "ReplicaFailure")["reason"], "FailedCreate");
    world.until_event("workers", "FailedCreate").await?;
    // One at a time: where one is refused, the others would be, too.
    let tried = world.proxy.log().matching(&creations).len();
    assert!(tried < 40, "{tried} attempts");
    world.proxy.clear_rules();
    let set = world.until_settled("workers").await?;
    assert_eq!(*condition_of(&set, "ReplicaFailure"), json!(null));
    assert_eq!(world.until_alive(40).await?.len(), 40);
    assert_eq!(world.all_machines().await?.len(), 40);
    Ok(())
}

async fn a_record_of_ordinals_that_nobody_understands_stops_counting(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 2, json!({})).await?;
    world.until_settled("workers").await?;
    let window =
        |text: &str| json!({"metadata": {"annotations": {"machinist.dev/ordinals": text}}});
    world.patch_set("workers", window("v9:odd")).await?;
    world.scale("workers", 5).await?;
    let note = world.until_event("workers", "ReconcileError").await?;
    assert!(note.contains("machinist.dev/ordinals") && note.contains("v9:odd"), "{note}");
    assert_eq!(world.alive_machines().await?.len(), 2);
    // It is removed: counting begins above the existing machines.
    world
        .patch_set(
            "workers",
            json!({"metadata": {"annotations": {"machinist.dev/ordinals": null}}}),
        )
        .await?;
    world.until_settled("workers").await?;
    assert_eq!(world.until_alive(5).await?.len(), 5);
    assert_eq!(world.all_machines().await?.len(), 5);
    Ok(())
}

/// What the machine controller writes.
async fn set_ready(world: &Fixture, machine: &str, ready: Value) -> Result<()> {
    let mut ready = ready;
    ready["type"] = json!("Ready");
    ready["lastTransitionTime"] = json!("2026-01-02T03:04:05Z");
    world.patch_machine_status(machine, json!({"conditions": [ready]})).await
}

fn no_capacity() -> Value {
    json!({"status": "False", "severity": "Warning", "reason": "CapacityExhausted",
        "message": "No capacity in zone a"})
}

async fn blocked_machines_are_explained_on_their_set(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 3, json!({})).await?;
    let set = world.until_settled("workers").await?;
    assert_eq!(condition(&set, "MachinesReady"), "False/Starting");
    let names = world.until_alive(3).await?;
    for name in &names[1..] {
        set_ready(&world, name, no_capacity()).await?;
    }
    let text = "2 of 3 Machines are not ready: CapacityExhausted: No capacity in zone a";
    world.until_set("workers", text, |set| message(set, "MachinesReady") == text).await?;
    for name in &names {
        set_ready(&world, name, json!({"status": "True"})).await?;
    }
    let is_ready = |set: &_| condition(set, "MachinesReady") == "True";
    let set = world.until_set("workers", "all are ready", is_ready).await?;
    assert_eq!(message(&set, "MachinesReady"), "");
    let reasons = world.event_reasons("workers").await?;
    assert!(!reasons.contains(&"MachinesNotReady".to_owned()), "{reasons:?}");
    Ok(())
}

/// As the MachineSets of older OpenShift versions are.
#[tokio::test(flavor = "multi_thread")]
async fn blocked_machines_are_an_event_where_sets_have_no_conditions() -> Result<()> {
    let definition = Served::Ours.yaml(&["machinesets"]).await?;
    let mut definition: Value = serde_json::from_str(&definition)?;
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    definition.pointer_mut(status).unwrap().as_object_mut().unwrap().remove("conditions").unwrap();
    let control_plane = ControlPlane::start().await?;
    let machines = Served::Ours.yaml(&["machines"]).await?;
    control_plane.install_crds(&format!("{machines}\n---\n{definition}")).await?;
    let world = world::start_on(&control_plane, "no-conditions", Served::Ours).await?;
    let _process = world.run()?;
    world.create_sized_set("workers", 2, json!({})).await?;
    world.until_settled("workers").await?;
    for name in world.until_alive(2).await? {
        set_ready(&world, &name, no_capacity()).await?;
    }
    let note = world.until_event("workers", "MachinesNotReady").await?;
    assert_eq!(note, "Machines are not ready: CapacityExhausted: No capacity in zone a");
    // Conditions are not written again and again to a schema that drops them.
    let status = Match::writes().resource("machinesets").subresource("status");
    let writes = || world.proxy.log().matching(&status).len();
    let before = writes();
    let label = json!({"metadata": {"labels": {"any": "thing"}}});
    world.patch_set("workers", label.clone()).await?;
    for name in world.until_alive(2).await? {
        world.patch_machine(&name, label.clone()).await?;
    }
    world.create_sized_set("others", 0, json!({})).await?;
    world.until_settled("others").await?;
    let of_workers = world.proxy.log().matching(&status.clone().name("workers")).len();
    assert!(writes() > before && of_workers <= before, "{}", world.proxy.log());
    Ok(())
}
