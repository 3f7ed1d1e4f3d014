//! What a drain does on a cluster.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use machinist_api::names::ANNOTATION_DRAIN;
use machinist_controllers::drain::{Mark, Step};
use machinist_domain::machine_timings::MachineTimings;
use machinist_testbed::poll::eventually;
use machinist_testbed::world::PATIENCE;
use serde_json::json;

use crate::drain::cluster::DrainWorld;
use crate::drain::driver::{Machine, Process, timings};

async fn mark(world: &DrainWorld, node: &str) -> Result<Mark> {
    let node = world.nodes().get(&world.unique(node)).await?;
    ensure!(node.spec.as_ref().and_then(|spec| spec.unschedulable) == Some(true), "not cordoned");
    let text = node.annotations().get(ANNOTATION_DRAIN).context("no mark")?;
    Mark::read(text).with_context(|| format!("not understood: {text}"))
}

#[tokio::test]
async fn a_budget_is_named_and_obeyed_until_it_allows() -> Result<()> {
    let world = DrainWorld::new("budget").await?;
    let node = world.node("a", None).await?;
    let daemon = world.daemon("daemon").await?;
    world.pod("plain", "a", json!({})).await?;
    let mirror = json!({"annotations": {"kubernetes.io/config.mirror": "static"}});
    world.pod("mirror", "a", mirror).await?;
    world.protected_pod("web-0", "a").await?;
    world.budget("at-least-one").await?;

    let process = Process::start(&world, timings()).await?;
    let mut machine = Machine::of(&node)?;
    let blocked = |step, machine: &Machine| {
        step == Step::EvictionBlocked && machine.message().starts_with("1 pod is")
    };
    process.until(&mut machine, "only the protected pod is left", blocked).await?;
    let message = machine.message();
    assert!(message.contains(&format!("{}/web-0", world.namespace)), "{message}");
    assert!(message.contains("at-least-one"), "{message}");
    assert!(mark(&world, "a").await?.cordoned);
    // The same words for several refusals: written once, and one Event.
    let before = machine.conditions.clone();
    let refusals = machine.refusals + 2;
    process.until(&mut machine, "two more refusals", |_, m| m.refusals >= refusals).await?;
    assert_eq!(machine.conditions, before);
    assert_eq!(machine.events, ["DrainProceeds", "DrainRequeued"]);
    let mut expected = vec![daemon.clone(), "mirror".to_owned(), "web-0".to_owned()];
    expected.sort();
    assert_eq!(world.pod_names().await?, expected);

    world.node("b", None).await?;
    world.protected_pod("web-1", "b").await?;
    process.until_step(&mut machine, Step::Succeeded).await?;
    assert_eq!(machine.events.last(), Some(&"DrainSucceeded"));
    let left = world.pod_names().await?;
    assert!(left.contains(&daemon) && left.contains(&"mirror".to_owned()), "{left:?}");
    assert!(!left.contains(&"web-0".to_owned()), "{left:?}");
    Ok(())
}

#[tokio::test]
async fn a_drain_that_was_interrupted_goes_on() -> Result<()> {
    let world = DrainWorld::new("resume").await?;
    let node = world.node("a", None).await?;
    world.protected_pod("web-0", "a").await?;
    world.budget("at-least-one").await?;
    let mut machine = Machine::of(&node)?;

    // The first process dies right after its first write, before it writes an Event.
    let first = Process::start(&world, timings()).await?;
    assert_eq!(first.reconcile(&mut machine).await, (Step::Cordoning, Some(Duration::ZERO)));
    drop(first);
    let started = mark(&world, "a").await?;
    assert!(machine.conditions.is_empty(), "{:?}", machine.conditions);

    // The second one is refused, and forgets that it was.
    let second = Process::start(&world, timings()).await?;
    second.until_step(&mut machine, Step::EvictionBlocked).await?;
    drop(second);

    world.node("b", None).await?;
    world.protected_pod("web-1", "b").await?;
    let third = Process::start(&world, timings()).await?;
    third.until_step(&mut machine, Step::Succeeded).await?;
    assert_eq!(mark(&world, "a").await?, started, "the drain is as old as it was");
    // A new process writes it again; the same Event is the same object.
    machine.events.sort_unstable();
    machine.events.dedup();
    assert_eq!(machine.events, ["DrainProceeds", "DrainRequeued", "DrainSucceeded"]);
    assert_eq!(world.pod_names().await?, ["web-1"]);
    Ok(())
}

#[tokio::test]
async fn after_the_deadline_a_budget_no_longer_counts() -> Result<()> {
    let world = DrainWorld::new("deadline").await?;
    let node = world.node("a", None).await?;
    world.protected_pod("web-0", "a").await?;
    world.budget("at-least-one").await?;
    // Long enough to meet the budget first, also on a busy machine.
    let hasty = MachineTimings { drain: Some(Duration::from_secs(8)), ..timings() };
    let process = Process::start(&world, hasty).await?;
    let mut machine = Machine::of(&node)?;
    process.until_step(&mut machine, Step::EvictionBlocked).await?;
    process.until_step(&mut machine, Step::Forced).await?;
    assert!(machine.message().contains("after its timeout of 8s"), "{}", machine.message());
    assert_eq!(machine.events.last(), Some(&"DrainForced"));
    assert_eq!(world.pod_names().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_machine_that_is_forced_waits_for_nobody() -> Result<()> {
    let world = DrainWorld::new("forced").await?;
    let node = world.node("a", None).await?;
    world.protected_pod("web-0", "a").await?;
    world.budget("at-least-one").await?;
    world.attach("volume", "a").await?;
    let process = Process::start(&world, timings()).await?;
    let mut machine = Machine::of(&node)?;
    machine.subject.forced = true;
    process.until_step(&mut machine, Step::Forced).await?;
    assert_eq!(machine.refusals, 0);
    assert_eq!(world.pod_names().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn volumes_are_waited_for() -> Result<()> {
    let world = DrainWorld::new("volumes").await?;
    let node = world.node("a", None).await?;
    world.node("b", None).await?;
    let (here, _elsewhere) = (world.attach("vol-a", "a").await?, world.attach("vol-b", "b").await?);
    let patient = MachineTimings { volume_detach: Duration::from_secs(600), ..timings() };
    let process = Process::start(&world, patient).await?;
    let mut machine = Machine::of(&node)?;
    process.until_step(&mut machine, Step::WaitingForVolumes).await?;
    assert_eq!(
        machine.message(),
        "Volumes are still attached to the node: vol-a; waiting for the storage driver"
    );
    world.detach(&here).await?;
    process.until_step(&mut machine, Step::Succeeded).await
}

#[tokio::test]
async fn control_plane_nodes_go_one_after_the_other() -> Result<()> {
    let world = DrainWorld::new("quorum").await?;
    let a = world.node("a", Some("control-plane")).await?;
    let b = world.node("b", Some("master")).await?;
    let process = Process::start(&world, timings()).await?;
    let (mut machine_a, mut machine_b) = (Machine::of(&a)?, Machine::of(&b)?);
    // Both at once, so that both have looked before either has written.
    let (first_a, first_b) =
        tokio::join!(process.reconcile(&mut machine_a), process.reconcile(&mut machine_b));
    let mut steps = [first_a.0, first_b.0];
    steps.sort();
    assert_eq!(steps, [Step::WaitingForControlPlane, Step::Cordoning]);
    let (first, second, mut waiting, mut going) = if first_a.0 == Step::Cordoning {
        (a, b, machine_b, machine_a)
    } else {
        (b, a, machine_a, machine_b)
    };
    assert!(waiting.message().contains(&first.name_any()), "{}", waiting.message());
    process.until_step(&mut going, Step::Succeeded).await?;
    assert_eq!(process.reconcile(&mut waiting).await.0, Step::WaitingForControlPlane);
    let untouched = world.nodes().get(&second.name_any()).await?;
    assert_ne!(untouched.spec.and_then(|spec| spec.unschedulable), Some(true));

    world.nodes().delete(&first.name_any(), &DeleteParams::default()).await?;
    process.until_step(&mut waiting, Step::Succeeded).await?;
    // No control-plane node is left cordoned for the other tests.
    world.nodes().delete(&second.name_any(), &DeleteParams::default()).await?;
    Ok(())
}

#[tokio::test]
async fn a_cordon_that_somebody_takes_off_is_put_back() -> Result<()> {
    let world = DrainWorld::new("cordon").await?;
    let node = world.node("a", None).await?;
    world.protected_pod("web-0", "a").await?;
    world.budget("at-least-one").await?;
    let process = Process::start(&world, timings()).await?;
    let mut machine = Machine::of(&node)?;
    process.until_step(&mut machine, Step::EvictionBlocked).await?;
    let started = mark(&world, "a").await?;
    let uncordon = Patch::Merge(json!({"spec": {"unschedulable": false}}));
    world.nodes().patch(&node.name_any(), &PatchParams::default(), &uncordon).await?;
    process.until_step(&mut machine, Step::Cordoning).await?;
    assert_eq!(mark(&world, "a").await?, started);
    Ok(())
}

#[tokio::test]
async fn a_node_that_is_gone_needs_no_drain_and_another_of_its_name_is_left_alone() -> Result<()> {
    let world = DrainWorld::new("gone").await?;
    let node = world.node("a", None).await?;
    let mut machine = Machine::of(&node)?;
    let mut same_name = Machine::of(&node)?;
    world.nodes().delete(&node.name_any(), &DeleteParams::default()).await?;
    let process = Process::start(&world, timings()).await?;
    process.until_step(&mut machine, Step::NodeGone).await?;
    assert_eq!(machine.events, ["DrainSucceeded"]);
    let gone = eventually(PATIENCE, "the node is gone", || async {
        ensure!(world.nodes().get_opt(&node.name_any()).await?.is_none(), "it is there");
        Ok(())
    });
    gone.await?;
    world.node("a", None).await?;
    let elsewhere = Patch::Merge(json!({"spec": {"providerID": "test:///zone/another"}}));
    world.nodes().patch(&node.name_any(), &PatchParams::default(), &elsewhere).await?;
    let process = Process::start(&world, timings()).await?;
    process.until_step(&mut same_name, Step::NodeGone).await?;
    let other = world.nodes().get(&node.name_any()).await?;
    assert_ne!(other.spec.and_then(|spec| spec.unschedulable), Some(true));
    Ok(())
}
