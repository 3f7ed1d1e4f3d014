//! A recycle of a group of three with every strategy: every write to Kubernetes (cordons and evictions among them) and
//! every call to AWS is made to fail in every way, and every death is `kill -9`. However it goes, the group ends at
//! its original size with three new instances, none too many was made, and no Node that stays is cordoned.
//!
//! A run mostly waits for AWS and for Nodes, so several worlds share an API server at the same time.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use machinist_api::event_recycler::EventRecycler;
use machinist_api::event_recycler::recycle::{InstanceState, Step};
use machinist_api::names::ANNOTATION_DRAIN;
use machinist_testbed::World;
use machinist_testbed::aws::estate::InstanceFacts;
use machinist_testbed::aws::{self, Behaviour, Moto};
use machinist_testbed::crash::{
    Harness, Options, ProcessSubject, Running as _, Sample, Scenario, Subject as _,
};
use machinist_testbed::faults::{ApiRequest, Effect, Gate, Match, Rule};
use machinist_testbed::world::WorldAws;
use serde_json::{Value, json};

use crate::every_fault;

const SIZES: [u32; 3] = [1, 5, 3];

const CHANGES: [&str; 3] =
    ["StartInstanceRefresh", "TerminateInstanceInAutoScalingGroup", "UpdateAutoScalingGroup"];
const READS: [&str; 3] =
    ["DescribeAutoScalingGroups", "DescribeInstances", "DescribeInstanceRefreshes"];

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

    /// AWS as it is: eventually consistent, slow, and throttling the first call of each kind that changes something.
    /// EventRecyclers are the cluster's: without this, every world's recycler would look after those of all.
    fn prepare(&self, world: &World) {
        if let Some(aws) = &world.aws {
            let front = aws.bed.front();
            front.behave(Behaviour::unkind());
            for action in CHANGES {
                front.inject(aws::Rule::next(action, aws::Effect::Throttle));
            }
            for action in READS {
                front.inject(aws::Rule::nth(action, 3, aws::Effect::Throttle));
            }
        }
        let name = world.namespace.clone();
        let recyclers = Match::any().resource("eventrecyclers");
        world.proxy.add_rule(Rule::new(recyclers, Effect::OnlyNamed(name)));
    }

    async fn run(&self, world: &World) -> Result<()> {
        let (name, aws) = (&*world.namespace, aws(world)?);
        let members = aws.estate.create_group(name, SIZES, &[]).await?;
        for id in &members {
            world.until_node(id).await?;
            occupy(world, id).await?;
        }
        let recyclers: Api<EventRecycler> = Api::all(world.client.clone());
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
        let left = cordons(world, &aws.estate.live().await?).await?;
        ensure!(left == Cordons::default(), "nodes that stay: {left:?}");
        recyclers.delete(name, &DeleteParams::default()).await?;
        let gone = async || {
            let left = recyclers.get_opt(name).await?;
            ensure!(left.is_none(), "{:?}", left.map(|it| it.metadata.finalizers));
            Ok(())
        };
        world.eventually("the EventRecycler to go", gone).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let estate = &aws(world)?.estate;
        let group = estate.group(&world.namespace).await?.context("the group is gone")?;
        let all = estate.instances().await?;
        let (live, gone): (Vec<_>, Vec<_>) = all.iter().cloned().partition(InstanceFacts::exists);
        let pods: Api<Pod> = world.api();
        Ok(json!({
            "sizes": group.sizes,
            "members": group.members.len(),
            "live": live.len(),
            // One more would mean that an instance was replaced that was new.
            "everMade": all.len(),
            "tags": group.tags.keys().filter(|key| key.starts_with("machinist.dev/")).count(),
            "cordons": format!("{:?}", cordons(world, &live).await?),
            // Nodes of terminated instances stay here.
            "cordonsThatLinger": format!("{:?}", cordons(world, &gone).await?),
            "pods": pods.list(&ListParams::default()).await?.items.len(),
        }))
    }

    /// Instances and Nodes are alike; a status is named after the state of its recycle.
    fn label(&self, request: &ApiRequest) -> String {
        let name = request.name.as_deref().unwrap_or_default();
        match &*request.resource {
            "events" => name.split_once(' ').map_or("", |(_, reason)| reason).to_owned(),
            "eventrecyclers" => self.state_of(request),
            "nodes" => "node".to_owned(),
            _ => String::new(),
        }
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match &*request.resource {
            // What is waited for, and counts, are stored with every reconcile; a step once.
            "eventrecyclers" if self.state_of(request) == COUNTS => 0,
            "eventrecyclers" if request.subresource.is_some() => 1,
            _ => u32::MAX,
        }
    }
}

const COUNTS: &str = "counts";

impl Recycled {
    /// The state of the recycle in a status, in a word.
    fn state_of(&self, request: &ApiRequest) -> String {
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
        // AWS replaces the instances: how many are gone when the recycler looks depends on timing.
        if self.strategy == "InstanceRefresh" {
            return step.to_owned();
        }
        let instances = recycle["instances"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count = |state: InstanceState| {
            instances.iter().filter(|instance| instance["state"] == json!(state)).count()
        };
        let on_their_way =
            [InstanceState::Draining, InstanceState::Terminating, InstanceState::Gone].map(count);
        format!("{step} {on_their_way:?}")
    }

    fn recycler(&self, name: &str, aws: &WorldAws) -> Result<EventRecycler> {
        Ok(serde_json::from_value(json!({
            "apiVersion": "kaws.pischarti.dev/v1beta1", "kind": "EventRecycler",
            "metadata": {"name": name},
            "spec": {
                "searchTerms": [name], "pollInterval": "250ms", "watchInterval": "500ms",
                "countBy": "Events", "strategy": self.strategy, "awsRegion": aws.estate.region(),
            },
        }))?)
    }
}

fn aws(world: &World) -> Result<&WorldAws> {
    world.aws.as_ref().context("a world with AWS")
}

/// A pod on a node. It has no grace period, because no kubelet would report its end.
async fn occupy(world: &World, node: &str) -> Result<()> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": format!("on-{node}")},
        "spec": {
            "nodeName": node, "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
        },
    }))?;
    world.api().create(&PostParams::default(), &pod).await?;
    Ok(())
}

/// How many Nodes are cordoned, and how many carry the mark of a drain.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cordons {
    cordoned: usize,
    marked: usize,
}

async fn cordons(world: &World, instances: &[InstanceFacts]) -> Result<Cordons> {
    let nodes = world.nodes();
    let mut found = Cordons::default();
    for instance in instances {
        let Some(node) = nodes.get_opt(&instance.id).await? else { continue };
        let cordoned = node.spec.and_then(|spec| spec.unschedulable).unwrap_or_default();
        let annotations = node.metadata.annotations.unwrap_or_default();
        found.cordoned += usize::from(cordoned);
        found.marked += usize::from(annotations.contains_key(ANNOTATION_DRAIN));
    }
    Ok(found)
}

async fn complain(world: &World, name: &str, node: &str) -> Result<()> {
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?.to_string();
    let event: Event = serde_json::from_value(json!({
        "metadata": {"generateName": "bad-", "namespace": "default"},
        "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": node},
        "message": format!("{name}: rpc error"), "reason": "Failed", "type": "Warning",
        "count": 1, "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "test"},
    }))?;
    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    events.create(&PostParams::default(), &event).await?;
    Ok(())
}

fn subject() -> ProcessSubject {
    subject_at("0.05")
}

fn subject_at(time_scale: &str) -> ProcessSubject {
    ProcessSubject::new(env!("CARGO_BIN_EXE_machinist"))
        .args([
            "run",
            "--controllers=recycler",
            "--leader-elect=false",
            "--metrics-bind-address=0",
            "--health-addr=0",
            "--sync-period=10m",
        ])
        .args([&*format!("--time-scale={time_scale}")])
        .env("AWS_ENDPOINT_URL", "{cloud}")
        .env("RUST_LOG", "info")
        .env("AWS_ACCESS_KEY_ID", "AKIACRASH")
        .env("AWS_SECRET_ACCESS_KEY", "crash")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output(concat!(env!("CARGO_TARGET_TMPDIR"), "/recycler-crash"))
}

/// `parallel` worlds at once; fewer points would mean that the scenario shows less than it did.
async fn survives(
    strategy: &'static str,
    name: &'static str,
    parallel: usize,
    least_points: usize,
) -> Result<()> {
    let control_plane = every_fault::shared().await;
    let options = Options {
        sample: Sample::from_env()?,
        parallel,
        // A run takes seconds; beside a build it took two minutes.
        deadline: Duration::from_secs(240),
        // Longer than the poll and watch intervals of the EventRecycler.
        settle: Duration::from_millis(700),
        aws: true,
        ..Options::default()
    };
    let scenario = Recycled { name, strategy };
    let servers = vec![control_plane.kube_config()];
    let report = Harness::new(subject(), scenario, servers, options).run().await?;
    eprintln!("{strategy}: {report}");
    report.check_with(least_points)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instance_by_instance_survives_every_fault() -> Result<()> {
    survives("Replace", "replaced", 6, 34).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_survives_every_fault() -> Result<()> {
    survives("InstanceRefresh", "refreshed", 4, 16).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_zero_and_back_survives_every_fault() -> Result<()> {
    survives("ScaleToZero", "scaled", 4, 21).await
}

/// AWS executes a call with sizes of zero when its process is dead and the next one has restored the sizes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scale_down_that_is_executed_after_the_restoration_is_reverted() -> Result<()> {
    let control_plane = every_fault::shared().await;
    let scenario = Recycled { name: "landed", strategy: "ScaleToZero" };
    let moto = Arc::new(Moto::start_bare().await?);
    let world = World::new(&control_plane.kube_config(), scenario.name).await?;
    let world = world.within(Duration::from_secs(240)).with_aws(&moto).await?;
    scenario.prepare(&world);
    let gate = Gate::new();
    // The first one is throttled.
    let resizes = Match::any().resource("UpdateAutoScalingGroup");
    let late = Effect::LandLate { gate: gate.clone(), hangs: true };
    world.proxy.add_rule(Rule::new(resizes, late).skip(1).times(1));
    // The recycle is not over before the call is executed, also on a busy machine.
    let (subject, launch) = (subject_at("0.3"), world.launch());
    let first = subject.start(&launch).await?;
    let next = async {
        gate.reached().await;
        first.kill().await?;
        let next = subject.start(&launch).await?;
        let recyclers: Api<EventRecycler> = Api::all(world.client.clone());
        let restored = async || {
            let status = recyclers.get_status(&world.namespace).await?.status.unwrap_or_default();
            let steps: Vec<_> = status.recycles.iter().flatten().map(|one| one.step).collect();
            ensure!(matches!(&*steps, [Step::Refilling | Step::Unmarking]), "{steps:?}");
            Ok(())
        };
        world.eventually("the sizes to be restored", restored).await?;
        gate.open();
        anyhow::Ok(next)
    };
    let ((), next) = tokio::try_join!(scenario.run(&world), next)?;
    let group = aws(&world)?.estate.group(&world.namespace).await?.context("the group is gone")?;
    ensure!(group.sizes == SIZES && group.members.len() == 3, "{group:?}");
    ensure!(!group.tags.keys().any(|key| key.starts_with("machinist.dev/")), "{group:?}");
    let ended = next.kill().await?;
    ensure!(ended.is_none(), "{ended:?}");
    Ok(())
}
