//! A cluster with an estate in EC2, behind a front that speaks TLS, and the user who scales its MachineSet.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use machinist_api::names::{LABEL_CLUSTER, LABEL_MACHINE_SET};
use machinist_testbed::aws::estate::{Balancers, InstanceFacts};
use machinist_testbed::aws::{Authority, AwsBed, Call, Estate, Kubelets, Moto, Transport};
use machinist_testbed::poll;
use machinist_testbed::world::reading::{line, runs};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::ec2::support::annotator::{Annotator, Launch};
use crate::ec2::support::world::Ec2World;

const REGION: &str = "us-east-2";
pub(super) const SET: &str = "workers";
/// What the cluster puts on everything.
pub(super) const CLUSTER_WIDE: (&str, &str) = ("cost-centre", "42");
/// Whose an instance is.
pub(super) const UID: &str = "machinist.dev/machine-uid";
/// A fleet takes longer than a single thing, and a large one longer than a small one: moto does one thing at a time.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);
const FOR_EACH: Duration = Duration::from_millis(400);

/// For fleets only, which bring their own images and are large.
static MOTO: OnceCell<Arc<Moto>> = OnceCell::const_new();

pub(super) struct Fleet {
    world: Ec2World,
    pub(super) cloud: AwsBed,
    pub(super) estate: Arc<Estate>,
    pub(super) balancers: Balancers,
    _kubelets: Kubelets,
}

impl Deref for Fleet {
    type Target = Ec2World;

    fn deref(&self) -> &Ec2World {
        &self.world
    }
}

impl Fleet {
    /// A cluster with the endpoint of its cloud, and nothing else.
    pub(super) async fn new(name: &str) -> Result<Self> {
        let world = Ec2World::openshift(name).await?;
        let start = async || Moto::start_bare().await.map(Arc::new);
        let moto = Arc::clone(MOTO.get_or_try_init(start).await?);
        let cloud = AwsBed::start_before(moto, Transport::Tls(Authority::new()?)).await?;
        let estate = Arc::new(Estate::found(cloud.moto(), REGION, &world.namespace).await?);
        let balancers = estate.build_balancers().await?;
        let url = cloud.endpoint_url();
        let endpoints =
            ["ec2", "elasticloadbalancing"].map(|service| json!({"name": service, "url": url}));
        let (key, value) = CLUSTER_WIDE;
        world
            .set_infrastructure(json!({
                "infrastructureName": estate.name(),
                "platformStatus": {"type": "AWS", "aws": {
                    "region": REGION,
                    "serviceEndpoints": endpoints,
                    "resourceTags": [{"key": key, "value": value}],
                }},
            }))
            .await?;
        world.trust(cloud.ca_pem().context("a CA")?).await?;
        let keys = [("aws_access_key_id", "AKIAMACHINES"), ("aws_secret_access_key", "x")];
        world.put_secret("aws", &keys).await?;
        world.put_secret("user-data", &[("userData", "#!/bin/sh\n")]).await?;
        let boot = Duration::from_millis(300);
        let kubelets = Kubelets::start(&estate, &world.config, boot)?;
        Ok(Self { world, cloud, estate, balancers, _kubelets: kubelets })
    }

    /// The controllers of machines, as a process.
    pub(super) async fn controllers(&self, flags: &[&str]) -> Result<Annotator> {
        self.controllers_with(flags, &[]).await
    }

    /// The same, with variables in their environment.
    pub(super) async fn controllers_with(
        &self,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Annotator> {
        let launch = Launch::new(&self.world)?.without_credentials();
        let set = |launch: Launch, (name, value): &(&str, &str)| launch.environment(name, value);
        let launch = variables.iter().fold(launch, set);
        let launch = launch.flag("--controllers=machine,machineset,nodelink");
        let launch = launch.flag("--leader-elect=false");
        flags.iter().fold(launch, |launch, flag| launch.flag(flag)).start().await
    }

    /// A spec with load balancers and a dedicated host for each machine.
    pub(super) fn rich_spec(&self) -> Value {
        let own_host = json!({
            "affinity": "DedicatedHost",
            "dedicatedHost": {"allocationStrategy": "Dynamic"},
        });
        self.spec(&json!({
            "placement": {"region": REGION, "tenancy": "host", "host": own_host},
            "loadBalancers": self.estate.balanced(),
        }))
    }

    pub(super) fn spec(&self, extra: &Value) -> Value {
        let mut spec = self.estate.spec(extra);
        spec["credentialsSecret"] = json!({"name": "aws"});
        spec["userDataSecret"] = json!({"name": "user-data"});
        spec
    }

    pub(super) fn labels(&self) -> Value {
        json!({LABEL_MACHINE_SET: SET, LABEL_CLUSTER: self.estate.name()})
    }

    /// A MachineSet that wants so many machines.
    pub(super) async fn create_set(&self, replicas: usize, spec: &Value) -> Result<DynamicObject> {
        let labels = self.labels();
        let spec = json!({
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"providerSpec": {"value": spec}},
            },
        });
        self.create_machine_set(SET, json!({}), spec).await
    }

    /// The machine of a set that wants one.
    pub(super) async fn only_machine(&self) -> Result<DynamicObject> {
        let mut machines = self.all_machines().await?;
        ensure!(machines.len() == 1, "there are {} machines", machines.len());
        machines.pop().context("a machine")
    }

    /// Waits until exactly so many machines run on so many instances, and nothing else is there; returns the instances.
    pub(super) async fn settled(&self, size: usize) -> Result<Vec<InstanceFacts>> {
        let patience = PATIENCE + FOR_EACH * u32::try_from(size)?;
        poll::eventually(patience, &format!("{size} machines to run"), || async {
            let machines = self.all_machines().await?;
            let running = machines.iter().filter(|one| runs(one)).count();
            ensure!(
                (running, machines.len()) == (size, size),
                "{running} of {} machines run: {:?}",
                machines.len(),
                machines.iter().map(line).collect::<Vec<_>>()
            );
            let live = self.estate.live().await?;
            ensure!(live.len() == size, "there are {} instances", live.len());
            Ok(live)
        })
        .await
    }

    /// Waits until every instance is registered with every load balancer.
    pub(super) async fn all_registered(&self, size: usize) -> Result<()> {
        poll::eventually(PATIENCE, &format!("{size} to be registered"), || async {
            let registered = self.estate.registered(&self.balancers).await?;
            ensure!(registered.iter().all(|ids| ids.len() == size), "{registered:?}");
            Ok(())
        })
        .await
    }

    /// Nothing that costs money is left, nor a Node or a registration.
    pub(super) async fn ensure_nothing_left(&self) -> Result<()> {
        let Self { estate, balancers, .. } = self;
        let left = [estate.live().await?.len(), estate.volumes().await?.len()];
        ensure!(left == [0, 0], "instances and volumes: {left:?}");
        let hosts = estate.hosts().await?;
        ensure!(hosts.is_empty(), "hosts: {hosts:?}");
        let registered = estate.registered(balancers).await?;
        ensure!(registered.iter().all(Vec::is_empty), "registered: {registered:?}");
        let ever = estate.instances().await?;
        let nodes = self.nodes().list(&ListParams::default()).await?;
        let ours = nodes.iter().filter(|node| ever.iter().any(|one| one.id == node.name_any()));
        ensure!(ours.count() == 0, "Nodes are left");
        Ok(())
    }

    /// The calls of the controllers that changed something, or tried to.
    pub(super) fn changes(&self) -> Vec<Call> {
        let mut calls = self.cloud.front().calls();
        calls.retain(|call| !call.action.starts_with("Describe"));
        calls
    }
}
