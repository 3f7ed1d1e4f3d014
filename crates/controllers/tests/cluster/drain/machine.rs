//! The machine controller with a simulated cloud: no instance goes before its node is drained, also if the process
//! dies in between.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use machinist_provider_sim::server::{SimCloud, SimServer};
use machinist_runtime::timings::Timings;
use machinist_testbed::cluster;
use machinist_testbed::poll::eventually;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::controllers::Setup;
use crate::drain::cluster::{PATIENCE, World};
use crate::drain::driver::timings;

/// The controllers on threads of their own, so that they can die with everything that they have begun.
struct Process(Option<Runtime>);

impl Process {
    async fn kill(mut self) -> Result<()> {
        if let Some(threads) = self.0.take() {
            let dead = tokio::task::spawn_blocking(move || threads.shutdown_timeout(PATIENCE));
            dead.await?;
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

/// Starts the controllers.
fn run(world: &World, cloud: &SimServer) -> Result<Process> {
    let machines = machinist_domain::machine_timings::MachineTimings {
        creation: Duration::from_secs(3600),
        ..timings()
    };
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let inside = threads.enter();
    let setup = Setup {
        controllers: &["machine", "nodelink"],
        endpoint: cloud.url(),
        namespace: &world.namespace,
        elects: false,
        identity: "test".to_owned(),
        // One that waited in a drain would hold up everything else.
        workers: Some(1),
        obey_migration: false,
        machines,
    };
    let (manager, controllers) = setup.process(world.config.clone(), &Timings::default())?;
    threads.spawn(async move { manager.run(controllers, CancellationToken::new()).await });
    drop(inside);
    Ok(Process(Some(threads)))
}

fn machines(world: &World) -> (ApiResource, Api<DynamicObject>) {
    let kind = cluster::machines();
    let api = Api::namespaced_with(world.client.clone(), &world.namespace, &kind);
    (kind, api)
}

async fn create(machines: &Api<DynamicObject>, kind: &ApiResource, name: &str) -> Result<()> {
    let spec = json!({
        "apiVersion": "sim.machinist.dev/v1beta1", "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small", "bootSeconds": 0,
    });
    let mut machine =
        DynamicObject::new(name, kind).data(json!({"spec": {"providerSpec": {"value": spec}}}));
    machine.metadata.labels =
        Some([("machine.openshift.io/cluster-api-cluster".to_owned(), "c".to_owned())].into());
    machines.create(&PostParams::default(), &machine).await?;
    Ok(())
}

/// Waits until a machine runs, and says on which node.
async fn until_runs(machines: &Api<DynamicObject>, name: &str) -> Result<String> {
    eventually(PATIENCE, "the machine runs", || async {
        let status = machines.get(name).await?.data["status"].clone();
        ensure!(status["phase"] == "Running", "{status}");
        Ok(status["nodeRef"]["name"].as_str().context("no node")?.to_owned())
    })
    .await
}

async fn until_gone(machines: &Api<DynamicObject>, name: &str) -> Result<()> {
    eventually(PATIENCE, "the machine is gone", || async {
        let machine = machines.get_opt(name).await?;
        ensure!(machine.is_none(), "{machine:?}");
        Ok(())
    })
    .await
}

/// The condition `Drained` of the machine `m`.
async fn drained(machines: &Api<DynamicObject>) -> Result<Value> {
    let machine = machines.get("m").await?;
    let conditions = machine.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == "Drained");
    found.with_context(|| format!("no such condition: {}", machine.data))
}

async fn blocked(machines: &Api<DynamicObject>) -> Result<Value> {
    eventually(PATIENCE, "the budget is in the way", || async {
        let condition = drained(machines).await?;
        ensure!(condition["reason"] == "EvictionBlocked", "{condition}");
        Ok(condition)
    })
    .await
}

async fn drain_events(world: &World) -> Result<Vec<String>> {
    let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
    let events = events.list(&ListParams::default()).await?;
    let about =
        |event: &Event| event.regarding.as_ref().and_then(|it| it.name.as_deref()) == Some("m");
    let reasons = events.items.into_iter().filter(about).filter_map(|event| event.reason);
    let mut reasons: Vec<_> = reasons.filter(|reason| reason.starts_with("Drain")).collect();
    reasons.sort();
    Ok(reasons)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_goes_when_its_node_is_drained_and_not_before() -> Result<()> {
    let world = World::new("machine").await?;
    let seed =
        world.namespace.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
    let cloud = SimCloud::new(seed, 1.0);
    let server = SimServer::start(&cloud).await?;
    let _kubelets = Kubelets::start(&cloud, world.config.clone(), KubeletOptions::default())?;
    let first = run(&world, &server)?;

    let (kind, machines) = machines(&world);
    create(&machines, &kind, "m").await?;
    let node = until_runs(&machines, "m").await?;
    world.protected_pod_on("web-0", &node).await?;
    world.budget("at-least-one").await?;

    machines.delete("m", &DeleteParams::default()).await?;
    let said = blocked(&machines).await?;
    let message = said["message"].as_str().unwrap_or_default();
    assert!(message.contains("web-0") && message.contains("at-least-one"), "{message}");
    assert_eq!((cloud.live(), said["severity"].as_str()), (1, Some("Warning")));

    // There is one worker: a drain that waits leaves it to the others.
    create(&machines, &kind, "other").await?;
    until_runs(&machines, "other").await?;
    machines.delete("other", &DeleteParams::default()).await?;
    until_gone(&machines, "other").await?;
    assert_eq!(blocked(&machines).await?, said);

    first.kill().await?;
    world.node("b", None).await?;
    let _second = run(&world, &server)?;
    // The first one may have died between its condition and its Events: then the second one says them.
    eventually(PATIENCE, "the Events are there", || async {
        let events = drain_events(&world).await?;
        ensure!(events == ["DrainProceeds", "DrainRequeued"], "{events:?}");
        Ok(())
    })
    .await?;
    assert_eq!(blocked(&machines).await?, said, "what is known is not written again");
    world.protected_pod("web-1", "b").await?;
    until_gone(&machines, "m").await?;
    assert_eq!(cloud.live(), 0);
    assert!(world.nodes().get_opt(&node).await?.is_none(), "the node is still there");
    assert_eq!(world.pod_names().await?, ["web-1"]);
    assert_eq!(drain_events(&world).await?, ["DrainProceeds", "DrainRequeued", "DrainSucceeded"]);
    Ok(())
}
