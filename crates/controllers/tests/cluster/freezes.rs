//! Freezes on a real API server: by the ConfigMap in the middle of a scale-up, by annotations of objects and their
//! owners, and those that machinist finds by itself.

mod not_ready;
mod outage;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use machinist_api::names::{ANNOTATION_FREEZE, CONDITION_FROZEN, FREEZE_CONFIG_MAP};
use machinist_testbed::faults::{Effect, Gate, Match, Rule, Verb};
use machinist_testbed::world::reading::{condition, condition_of, message};
use serde_json::json;

use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::fleet::fixture::{Fleet, SET};
use crate::machine_sets::world::start;
use crate::process::Process;

const WHY: &str = "network work";

fn is_frozen(object: &DynamicObject) -> bool {
    condition(object, CONDITION_FROZEN) == "True/Requested"
}

fn is_thawed(object: &DynamicObject) -> bool {
    condition_of(object, CONDITION_FROZEN).is_null()
}

fn switches(world: &Fixture) -> Api<ConfigMap> {
    Api::namespaced(world.client.clone(), &world.namespace)
}

async fn freeze(world: &Fixture) -> Result<()> {
    let object = json!({"metadata": {"name": FREEZE_CONFIG_MAP}, "data": {"reason": WHY}});
    switches(world).create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

async fn thaw(world: &Fixture) -> Result<()> {
    switches(world).delete(FREEZE_CONFIG_MAP, &DeleteParams::default()).await?;
    Ok(())
}

/// How many writes a freeze has stopped.
fn refusals(process: &Process) -> u64 {
    process.count("machinist_writes_total", &["result=\"Frozen\""])
}

async fn until_refused(world: &Fixture, process: &Process, count: u64) -> Result<()> {
    world
        .eventually("refused writes", || async {
            let refused = refusals(process);
            ensure!(refused >= count, "{refused} so far, of {count}");
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn config_map_stops_a_scale_up_in_the_middle_and_its_end_continues_it() -> Result<()> {
    let world = start("freeze", Served::Ours).await?;
    let gate = Gate::new();
    let creations = Match::any().verbs([Verb::Create]).resource("machines");
    world.proxy.add_rule(Rule::new(creations, Effect::Hold(gate.clone())).skip(5));
    let process = world.run()?;
    world.create_sized_set("workers", 40, json!({})).await?;
    gate.reached().await;
    freeze(&world).await?;
    world
        .eventually("the process to see it", || async {
            let (ready, text) = process.readiness();
            ensure!(ready && text.contains("[!] frozen since "), "{text}");
            Ok(())
        })
        .await?;
    gate.open();
    let set = world.until_set("workers", "it is frozen", is_frozen).await?;
    ensure!(message(&set, CONDITION_FROZEN).contains(WHY), "{:?}", set.data["status"]);
    ensure!(world.until_event("workers", "Frozen").await?.contains(WHY));
    let made = world.alive_machines().await?;
    ensure!((5..40).contains(&made.len()), "{} Machines", made.len());

    // Neither more nor fewer of them, whatever is asked for meanwhile.
    for replicas in [50, 1] {
        let before = refusals(&process);
        world.scale("workers", replicas).await?;
        until_refused(&world, &process, before + 1).await?;
    }
    assert_eq!(world.alive_machines().await?, made);
    let gauge = process.count("machinist_frozen", &["reason=\"Requested\"", "scope=\"cluster\""]);
    assert_eq!(gauge, 1);

    world.scale("workers", 50).await?;
    thaw(&world).await?;
    world.until_alive(50).await?;
    world.until_settled("workers").await?;
    world.until_set("workers", "it is frozen no longer", is_thawed).await?;
    world.until_event("workers", "FreezeEnded").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_starts_under_a_freeze_changes_nothing() -> Result<()> {
    let world = start("frozen-start", Served::Ours).await?;
    freeze(&world).await?;
    world.create_sized_set("workers", 3, json!({})).await?;
    let process = world.run()?;
    world.until_set("workers", "it is frozen", is_frozen).await?;
    assert!(world.alive_machines().await?.is_empty());
    assert!(refusals(&process) > 0);
    thaw(&world).await?;
    world.until_alive(3).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_deployment_keeps_its_sets_and_machines_as_they_are() -> Result<()> {
    let fleet = Fleet::with_deployments("frozen").await?;
    let process = fleet.run()?;
    let labels = json!({"set": SET, "machine.openshift.io/cluster-api-cluster": "test"});
    let spec = json!({
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": crate::fleet::fixture::machine_spec(&json!({})),
        },
    });
    fleet.create_machine_deployment("web", json!({}), spec).await?;
    let runs = |one: &DynamicObject| one.data["status"]["availableReplicas"] == 2;
    fleet.until_deployment("web", "2 available Machines", runs).await?;
    let before = fleet.alive_machines().await?;

    let annotate = async |text: Option<&str>| {
        let metadata = json!({"annotations": {ANNOTATION_FREEZE: text}});
        fleet.patch_deployment("web", json!({"metadata": metadata})).await
    };
    annotate(Some(WHY)).await?;
    fleet.until_deployment("web", "it is frozen", is_frozen).await?;
    let set = fleet.sets().list(&kube::api::ListParams::default()).await?.items.remove(0);
    let set = set.metadata.name.unwrap_or_default();
    let owned = fleet.until_set(&set, "its set is frozen", is_frozen).await?;
    ensure!(message(&owned, CONDITION_FROZEN).contains("MachineDeployment"), "{owned:?}");
    // What is deleted by hand waits, too, and is not replaced.
    let refused = refusals(&process);
    fleet.delete_machine(&before[0]).await?;
    fleet.patch_deployment("web", json!({"spec": {"replicas": 4}})).await?;
    // Of the set, which would replace it, and of the deployment, which would scale the set.
    until_refused(&fleet, &process, refused + 2).await?;
    assert_eq!(fleet.cloud().live(), 2);
    assert_eq!(fleet.alive_machines().await?, before[1..]);

    annotate(None).await?;
    let runs = |one: &DynamicObject| one.data["status"]["availableReplicas"] == 4;
    let web = fleet.until_deployment("web", "4 available Machines", runs).await?;
    assert!(is_thawed(&web));
    fleet.until_gone(&before[0]).await?;
    assert_eq!(fleet.cloud().live(), 4);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_namespace_and_frozen_machine_keep_their_instances() -> Result<()> {
    let fleet = Fleet::new("frozen-ns", Served::Ours).await?;
    let _process = fleet.run()?;
    fleet.create_workers(2, json!({})).await?;
    let machines = fleet.until_settled(2).await?;
    let victim = machines[0].metadata.name.clone().unwrap_or_default();
    fleet
        .patch_machine(&victim, json!({"metadata": {"annotations": {ANNOTATION_FREEZE: ""}}}))
        .await?;

    let namespaces = Api::<Namespace>::all(fleet.client.clone());
    let annotate = async |text: Option<&str>| {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {ANNOTATION_FREEZE: text}}}));
        namespaces.patch(&fleet.namespace, &PatchParams::default(), &patch).await.map(drop)
    };
    annotate(Some(WHY)).await?;
    fleet.until_set(SET, "it is frozen", is_frozen).await?;
    fleet.scale_workers(0).await?;
    fleet.delete_machine(&victim).await?;
    annotate(None).await?;
    fleet.until_set(SET, "it is frozen no longer", is_thawed).await?;
    // The other one goes; that with an annotation of its own stays.
    fleet
        .eventually("one Machine to be left", || async {
            let left = fleet.all_machines().await?;
            ensure!(left.len() == 1, "{} are left", left.len());
            Ok(())
        })
        .await?;
    assert_eq!(fleet.cloud().live(), 1);
    let unset = json!({"metadata": {"annotations": {ANNOTATION_FREEZE: null}}});
    fleet.patch_machine(&victim, unset).await?;
    fleet.until_settled(0).await?;
    Ok(())
}
