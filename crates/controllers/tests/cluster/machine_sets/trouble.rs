//! Problems are reported in conditions and Events, and cleared when they are over.

use anyhow::Result;
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::world::reading::condition_of;
use serde_json::json;

use crate::fixture::Fixture;

on_both_definitions! {
    crate::machine_sets::world::start =>
    a_set_that_is_not_valid_says_so_and_is_tried_again_when_it_is_edited,
    creation_that_is_refused_is_told_tried_gently_and_goes_on,
    a_record_of_ordinals_that_nobody_understands_stops_counting,
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
