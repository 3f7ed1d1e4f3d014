//! A recycle of a group of three with every strategy: every write to Kubernetes and every call to AWS is made to fail in every way, and
//! every death is `kill -9`. However it goes, the group ends at its original size with three new instances, and none too many was made.
//!
//! `make test` tries a few points of each, `make crash` all of them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Event, Node};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use machinist_api::event_recycler::EventRecycler;
use machinist_api::event_recycler::recycle::InstanceState;
use machinist_testbed::crash::{
    Harness, Options, ProcessSubject, Sample, Scenario, World, WorldAws,
};
use machinist_testbed::faults::ApiRequest;
use serde_json::{Value, json};

use crate::every_fault;

const SIZES: [u32; 3] = [1, 5, 3];

/// Five events, and a group is recycled. EventRecycler and group are called like the namespace: both kinds know none.
#[derive(Debug, Clone, Copy)]
struct Recycled {
    name: &'static str,
    strategy: &'static str,
}

impl Scenario for Recycled {
    fn name(&self) -> &str {
        self.name
    }

    async fn run(&self, world: &World) -> Result<()> {
        let (name, aws) = (&*world.namespace, aws(world)?);
        let members = aws.estate.create_group(name, SIZES, &[]).await?;
        let nodes: Api<Node> = Api::all(world.client());
        for id in &members {
            world.eventually("its nodes", || async { Ok(nodes.get(id).await.map(drop)?) }).await?;
        }
        let recyclers: Api<EventRecycler> = Api::all(world.client());
        recyclers.create(&PostParams::default(), &self.recycler(name, aws)?).await?;
        for _ in 0..5 {
            complain(world, name, &members[0]).await?;
        }
        let ended = async || {
            let status = recyclers.get_status(name).await?.status.unwrap_or_default();
            let past = status.recycle_history.as_deref().unwrap_or_default();
            ensure!(
                past.len() == 1 && status.recycles.is_none_or(|all| all.is_empty()),
                "{past:?}"
            );
            ensure!(past[0].status.as_deref() == Some("Succeeded"), "{past:?}");
            Ok(())
        };
        world.eventually("the recycle to end well", ended).await?;
        // Whoever comes next shall not find it.
        recyclers.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let estate = &aws(world)?.estate;
        let group = estate.group(&world.namespace).await?.context("the group is gone")?;
        let (all, live) = (estate.instances().await?, estate.live().await?);
        Ok(json!({
            "sizes": group.sizes,
            "members": group.members.len(),
            "live": live.len(),
            // One more would mean that an instance was replaced that was new.
            "everMade": all.len(),
            "tags": group.tags.keys().filter(|key| key.starts_with("machinist.dev/")).count(),
        }))
    }

    /// Instances and Nodes are alike; a status is called after what it says of the recycle.
    fn label(&self, request: &ApiRequest) -> String {
        let name = request.name.as_deref().unwrap_or_default();
        match &*request.resource {
            "events" => name.split_once(' ').map_or("", |(_, reason)| reason).to_owned(),
            "eventrecyclers" => told(request),
            "nodes" => "node".to_owned(),
            _ => String::new(),
        }
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match &*request.resource {
            // What is waited for, and counts, are stored as often as somebody looks; a step once.
            "eventrecyclers" if told(request) == COUNTS => 0,
            "eventrecyclers" if request.subresource.is_some() => 1,
            _ => u32::MAX,
        }
    }
}

const COUNTS: &str = "counts";

/// What a status says of the recycle, in a word.
fn told(request: &ApiRequest) -> String {
    if request.subresource.is_none() {
        return "finalizer".to_owned();
    }
    let body = request.json().unwrap_or_default();
    let status = &body["status"];
    if status["recycleHistory"].is_array() {
        return "ended".to_owned();
    }
    let recycle = &status["recycles"][0];
    let Some(step) = recycle["step"].as_str() else { return COUNTS.to_owned() };
    let instances = recycle["instances"].as_array().map(Vec::as_slice).unwrap_or_default();
    let count = |state: InstanceState| {
        instances.iter().filter(|instance| instance["state"] == json!(state)).count()
    };
    let on_their_way =
        [InstanceState::Draining, InstanceState::Terminating, InstanceState::Gone].map(count);
    format!("{step} {on_their_way:?}")
}

impl Recycled {
    fn recycler(&self, name: &str, aws: &WorldAws) -> Result<EventRecycler> {
        Ok(serde_json::from_value(json!({
            "apiVersion": "kaws.pischarti.dev/v1beta1", "kind": "EventRecycler",
            "metadata": {"name": name},
            "spec": {
                "searchTerms": [name], "pollInterval": "1s", "watchInterval": "1s",
                "strategy": self.strategy, "awsRegion": aws.estate.region(),
            },
        }))?)
    }
}

fn aws(world: &World) -> Result<&WorldAws> {
    world.aws.as_ref().context("a world with AWS")
}

async fn complain(world: &World, name: &str, node: &str) -> Result<()> {
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?.to_string();
    let event: Event = serde_json::from_value(json!({
        "metadata": {"generateName": "bad-", "namespace": "default"},
        "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": node},
        "message": format!("{name}: rpc error"), "reason": "Failed", "type": "Warning",
        "count": 1, "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "test"},
    }))?;
    let events: Api<Event> = Api::namespaced(world.client(), "default");
    events.create(&PostParams::default(), &event).await?;
    Ok(())
}

fn subject() -> ProcessSubject {
    ProcessSubject::new(env!("CARGO_BIN_EXE_machinist"))
        .args([
            "run",
            "--controllers=recycler",
            "--leader-elect=false",
            "--metrics-bind-address=0",
            "--health-addr=0",
            "--sync-period=10m",
            "--time-scale=0.05",
        ])
        .env("AWS_ENDPOINT_URL", "{cloud}")
        .env("RUST_LOG", "info")
        .env("AWS_ACCESS_KEY_ID", "AKIACRASH")
        .env("AWS_SECRET_ACCESS_KEY", "crash")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output(concat!(env!("CARGO_TARGET_TMPDIR"), "/recycler-crash"))
}

/// `few` is how many points are tried unless all are.
async fn survives(strategy: &'static str, name: &'static str, few: usize) -> Result<()> {
    let control_plane = every_fault::control_plane().await;
    let all = std::env::var_os("MACHINIST_CRASH").is_some();
    let options = Options {
        sample: if all { Sample::from_env() } else { Sample::Spread(few) },
        // EventRecyclers are the cluster's: one world at a time.
        parallel: 1,
        deadline: Duration::from_secs(120),
        settle: Duration::from_millis(1500),
        aws: true,
        ..Options::default()
    };
    let scenario = Recycled { name, strategy };
    let servers = vec![control_plane.kube_config()];
    let report = Harness::new(subject(), scenario, servers, options).run().await?;
    eprintln!("{strategy}: {report}");
    report.check()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instance_by_instance_survives_every_fault() -> Result<()> {
    survives("Replace", "replaced", 4).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_survives_every_fault() -> Result<()> {
    survives("InstanceRefresh", "refreshed", 3).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_zero_and_back_survives_every_fault() -> Result<()> {
    survives("ScaleToZero", "scaled", 3).await
}
