//! The machine controller with a simulated cloud: no instance goes before its node is drained, also if the process
//! dies in between.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::timings::Timings;
use machinist_testbed::world::reading::{condition_of, node_of, phase};
use serde_json::{Value, json};

use crate::controllers::Setup;
use crate::drain::cluster::DrainWorld;
use crate::drain::driver::timings;
use crate::process::Process;

/// Starts the controllers.
fn run(world: &DrainWorld) -> Result<Process> {
    let machines = MachineTimings { creation: Duration::from_secs(3600), ..timings() };
    let setup = Setup::new(&["machine", "nodelink"], &Timings::default(), machines);
    // One that waited in a drain would hold up everything else.
    Process::start(Setup { workers: Some(1), ..setup }, &world.launch())
}

async fn create(world: &DrainWorld, name: &str) -> Result<()> {
    let labels = json!({"machine.openshift.io/cluster-api-cluster": "c"});
    let spec = json!({
        "apiVersion": "sim.machinist.dev/v1beta1", "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small", "bootSeconds": 0,
    });
    let spec = json!({"providerSpec": {"value": spec}});
    world.create_machine(name, json!({"labels": labels}), spec).await?;
    Ok(())
}

/// Waits until a machine runs, and returns the name of its Node.
async fn until_runs(world: &DrainWorld, name: &str) -> Result<String> {
    let runs = |machine: &_| phase(machine) == "Running" && !node_of(machine).is_empty();
    Ok(node_of(&world.until_machine(name, "the machine runs", runs).await?).to_owned())
}

/// The condition `Drained` of the machine `m`, once the budget is in the way.
async fn blocked(world: &DrainWorld) -> Result<Value> {
    let machine = world.until_machine("m", "the budget is in the way", |machine| {
        condition_of(machine, "Drained")["reason"] == "EvictionBlocked"
    });
    Ok(condition_of(&machine.await?, "Drained").clone())
}

async fn drain_events(world: &DrainWorld) -> Result<Vec<String>> {
    let mut reasons = world.event_reasons("m").await?;
    reasons.retain(|reason| reason.starts_with("Drain"));
    Ok(reasons)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_goes_when_its_node_is_drained_and_not_before() -> Result<()> {
    let world = DrainWorld(DrainWorld::new("machine").await?.0.with_cloud(1.0).await?);
    let cloud = &world.cloud.as_ref().context("a cloud")?.sim;
    let first = run(&world)?;

    create(&world, "m").await?;
    let node = until_runs(&world, "m").await?;
    world.protected_pod_on("web-0", &node).await?;
    world.budget("at-least-one").await?;

    world.delete_machine("m").await?;
    let condition = blocked(&world).await?;
    let message = condition["message"].as_str().unwrap_or_default();
    assert!(message.contains("web-0") && message.contains("at-least-one"), "{message}");
    assert_eq!((cloud.live(), condition["severity"].as_str()), (1, Some("Warning")));

    // There is one worker: a drain that waits leaves it to the others.
    create(&world, "other").await?;
    until_runs(&world, "other").await?;
    world.delete_machine("other").await?;
    world.until_gone("other").await?;
    assert_eq!(blocked(&world).await?, condition);

    first.kill().await?;
    world.node("b", None).await?;
    let _second = run(&world)?;
    // The first one may have died between its condition and its Events: then the second one writes them.
    world
        .eventually("the Events are there", || async {
            let events = drain_events(&world).await?;
            ensure!(events == ["DrainProceeds", "DrainRequeued"], "{events:?}");
            Ok(())
        })
        .await?;
    assert_eq!(blocked(&world).await?, condition, "what is known is not written again");
    world.protected_pod("web-1", "b").await?;
    world.until_gone("m").await?;
    assert_eq!(cloud.live(), 0);
    assert!(world.nodes().get_opt(&node).await?.is_none(), "the node is still there");
    assert_eq!(world.pod_names().await?, ["web-1"]);
    assert_eq!(drain_events(&world).await?, ["DrainProceeds", "DrainRequeued", "DrainSucceeded"]);
    Ok(())
}
