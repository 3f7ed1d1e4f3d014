//! Who belongs to a set: orphans are adopted, machines that are not selected any more are released.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, PostParams};
use kube::{Api, ResourceExt};
use machinist_control_plane::ControlPlane;
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::condition_of;
use serde_json::{Value, json};

use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::machine_sets::world::{PATIENCE, start_on};

on_both_definitions! {
    crate::machine_sets::world::start =>
    an_orphan_is_adopted_counts_and_keeps_its_other_owners,
    a_machine_that_is_relabelled_is_released_kept_and_replaced,
    a_refused_orphan_is_not_replaced_and_is_adopted_later,
    a_set_that_is_being_deleted_makes_and_deletes_nothing,
}

async fn an_orphan_is_adopted_counts_and_keeps_its_other_owners(world: Fixture) -> Result<()> {
    let maps = Api::<ConfigMap>::namespaced(world.client.clone(), &world.namespace);
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "friend"}}))?;
    let friend = maps.create(&PostParams::default(), &map).await?;
    let owners =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "friend", "uid": friend.uid()}]);
    world.create_labelled_machine("orphan", "workers", owners).await?;
    world.create_labelled_machine("stranger", "others", json!([])).await?;
    let set = world.create_sized_set("workers", 2, json!({})).await?;
    let _process = world.run()?;
    world.until_settled("workers").await?;
    let orphan = world.machines().get("orphan").await?;
    let owners = orphan.owner_references();
    assert_eq!(owners.len(), 2, "{owners:?}");
    assert_eq!((owners[0].name.as_str(), owners[0].controller), ("friend", None));
    assert_eq!(
        (Some(&owners[1].uid), owners[1].controller),
        (set.metadata.uid.as_ref(), Some(true))
    );
    assert_eq!(
        world.alive_machines().await?.len(),
        3,
        "one adopted, one created, one of another owner"
    );
    assert!(world.machines().get("stranger").await?.owner_references().is_empty());
    assert_eq!(
        world.until_event("workers", "Adopted").await?,
        "Adopted orphan: its labels match the selector"
    );
    // It lacks one of the template's labels.
    let set = world.sets().get("workers").await?;
    assert_eq!(set.data["status"]["fullyLabeledReplicas"], 1);
    Ok(())
}

async fn a_machine_that_is_relabelled_is_released_kept_and_replaced(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 2, json!({})).await?;
    let names = world.until_alive(2).await?;
    world.until_settled("workers").await?;
    world.patch_machine(&names[0], json!({"metadata": {"labels": {"set": "mine"}}})).await?;
    world.until_alive(3).await?;
    world.until_settled("workers").await?;
    let released = world.machines().get(&names[0]).await?;
    assert!(
        released.owner_references().is_empty() && released.metadata.deletion_timestamp.is_none()
    );
    let expected = format!("Released {}: its labels no longer match the selector", names[0]);
    assert_eq!(world.until_event("workers", "Released").await?, expected);
    // Back again: adopted, and one too many.
    world.patch_machine(&names[0], json!({"metadata": {"labels": {"set": "workers"}}})).await?;
    world.until_alive(2).await?;
    world.until_settled("workers").await?;
    Ok(())
}

/// As after `kubectl delete machineset --cascade=orphan`, a new set of the same name, and an authorizer that fails.
async fn a_refused_orphan_is_not_replaced_and_is_adopted_later(world: Fixture) -> Result<()> {
    for orphan in ["orphan-0", "orphan-1"] {
        world.create_labelled_machine(orphan, "workers", json!([])).await?;
    }
    let _process = world.run()?;
    let adoptions = Match::any().verbs([Verb::Patch]).resource("machines");
    for (orphan, status) in [("orphan-0", 403), ("orphan-1", 401)] {
        let adoption = adoptions.clone().name(orphan);
        world.proxy.add_rule(Rule::new(adoption, Effect::answer(status)));
    }
    world.create_sized_set("workers", 3, json!({})).await?;
    world.until_event("workers", "ReconcileError").await?;
    // The one that is missing is created.
    world.until_alive(3).await?;
    let is_told = |set: &kube::api::DynamicObject| !condition_of(set, "ReplicaFailure").is_null();
    world
        .until_set("workers", "the refusal is reported", |set| {
            is_told(set) && set.data["status"]["replicas"] == 1
        })
        .await?;
    let attempts = || world.proxy.log().matching(&adoptions).len();
    eventually(PATIENCE, "adoption is retried although no Machine has changed", || async {
        ensure!(attempts() >= 6, "{} attempts", attempts());
        Ok(())
    })
    .await?;
    assert_eq!(world.alive_machines().await?.len(), 3, "no Machine in place of an orphan");
    world.proxy.clear_rules();
    world.until_settled("workers").await?;
    world.until_set("workers", "all is well", |set| !is_told(set)).await?;
    assert_eq!(world.alive_machines().await?.len(), 3);
    let writes = Match::any().resource("machines");
    let count = |verb| world.proxy.log().matching(&writes.clone().verbs([verb])).len();
    assert_eq!((count(Verb::Create), count(Verb::Delete)), (1, 0), "created and deleted");
    Ok(())
}

/// As with the definition of an old or careless controller.
#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_that_cannot_be_decoded_is_not_replaced_and_is_adopted_later() -> Result<()> {
    let mut definition: Value = serde_json::from_str(&Served::Ours.yaml(&["machines"]).await?)?;
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    *definition.pointer_mut(spec).context("a spec")? =
        json!({"x-kubernetes-preserve-unknown-fields": true});
    let control_plane = ControlPlane::start().await?;
    let sets = Served::Ours.yaml(&["machinesets"]).await?;
    control_plane.install_crds(&format!("{sets}\n---\n{definition}")).await?;
    let world = start_on(&control_plane, "undecodable-orphan", Served::Ours).await?;
    let labels = json!({"labels": {"set": "workers"}});
    for orphan in ["orphan-0", "orphan-1"] {
        world.create_machine(orphan, labels.clone(), json!("not even an object")).await?;
    }
    let _process = world.run()?;
    world.create_sized_set("workers", 3, json!({})).await?;
    world.until_alive(3).await?;
    let text = "Cannot adopt Machine orphan-0: it cannot be decoded; see its Events";
    let reported = |set: &DynamicObject| condition_of(set, "ReplicaFailure")["message"] == text;
    world
        .until_set("workers", text, |set| reported(set) && set.data["status"]["replicas"] == 1)
        .await?;
    // The one that can be decoded goes; the others never do.
    world.scale("workers", 0).await?;
    world.until_alive(2).await?;
    world.until_set("workers", "none is left", |set| set.data["status"]["replicas"] == 0).await?;
    world.scale("workers", 2).await?;
    for orphan in ["orphan-0", "orphan-1"] {
        world.patch_machine(orphan, json!({"spec": {}})).await?;
    }
    world.until_settled("workers").await?;
    assert_eq!(world.alive_machines().await?, ["orphan-0", "orphan-1"]);
    let writes = Match::any().resource("machines");
    let count = |verb| world.proxy.log().matching(&writes.clone().verbs([verb])).len();
    assert_eq!((count(Verb::Create), count(Verb::Delete)), (1, 1), "created and deleted");
    Ok(())
}

async fn a_set_that_is_being_deleted_makes_and_deletes_nothing(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 2, json!({})).await?;
    world.until_settled("workers").await?;
    world.patch_set("workers", json!({"metadata": {"finalizers": ["example.com/wait"]}})).await?;
    world.delete_set("workers").await?;
    world.scale("workers", 9).await?;
    world.create_sized_set("others", 1, json!({})).await?;
    world.until_settled("others").await?;
    assert_eq!(world.alive_machines().await?.len(), 3);
    // Gone for good: its machines are left to the garbage collector, and it is not requested any more.
    world.patch_set("workers", json!({"metadata": {"finalizers": null}})).await?;
    let writes = || world.proxy.log().matching(&Match::writes().name("workers")).len();
    let before = writes();
    eventually(PATIENCE, "the set is gone", || async {
        ensure!(world.sets().get_opt("workers").await?.is_none(), "still there");
        Ok(())
    })
    .await?;
    world.scale("others", 2).await?;
    world.until_settled("others").await?;
    assert_eq!(writes(), before);
    Ok(())
}
