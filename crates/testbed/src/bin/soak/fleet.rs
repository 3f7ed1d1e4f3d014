//! A MachineSet on the simulated cloud and three replicas of the controllers, each behind a proxy of its own. Two live
//! for the whole time and are measured; the third is killed now and then.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use machinist_api::names::TAG_MACHINE_UID;
use machinist_control_plane::ControlPlane;
use machinist_provider_sim::ENDPOINT_VARIABLE;
use machinist_testbed::cluster;
use machinist_testbed::crash::{
    Launch, ProcessSubject, Running as _, RunningProcess, Subject as _,
};
use machinist_testbed::faults::Proxy;
use machinist_testbed::poll;
use machinist_testbed::world::reading::{line, runs};
use machinist_testbed::world::{World, WorldCloud};
use serde_json::json;

use crate::memory;

const SET: &str = "workers";
const CLOUD: &str = "sim";
/// The clock of the cloud, against real time.
const CLOUD_SPEED: f64 = 10.0;
const PATIENCE: Duration = Duration::from_mins(15);
/// How long a replica is cut off to lose its leases.
pub(crate) const LEASE: Duration = Duration::from_secs(6);

pub(crate) struct Replica {
    pub(crate) proxy: Proxy,
    launch: Launch,
    running: Option<RunningProcess>,
}

pub(crate) struct Fleet {
    pub(crate) world: World,
    pub(crate) cloud: WorldCloud,
    pub(crate) replicas: Vec<Replica>,
    subject: ProcessSubject,
    _control_plane: ControlPlane,
}

impl Fleet {
    pub(crate) async fn start(machines: usize) -> Result<Self> {
        let control_plane = cluster::control_plane().await?;
        let config = control_plane.kube_config();
        let world = World::new(&config, "soak").await?;
        let cloud = WorldCloud::start(&config, CLOUD_SPEED).await?;
        let subject = subject()?;
        let mut fleet =
            Self { world, cloud, replicas: Vec::new(), subject, _control_plane: control_plane };
        for _ in 0..3 {
            let proxy = Proxy::start(&config).await?;
            proxy.log_nothing();
            let endpoint = proxy.join(CLOUD, &fleet.cloud.endpoint)?;
            let launch =
                Launch { cloud: Some(endpoint), ..Launch::new(&proxy, &fleet.world.namespace) };
            let running = Some(fleet.subject.start(&launch).await?);
            fleet.replicas.push(Replica { proxy, launch, running });
        }
        fleet.create_set().await.with_context(|| format!("a set of {machines}"))?;
        Ok(fleet)
    }

    async fn create_set(&self) -> Result<()> {
        let labels = json!({"set": SET, "machine.openshift.io/cluster-api-cluster": "soak"});
        let machine = json!({"providerSpec": {"value": {
            "apiVersion": "sim.machinist.dev/v1beta1", "kind": "SimMachineProviderConfig",
            "instanceType": "sim.small", "zone": "a", "bootSeconds": 20, "stopSeconds": 10, "dataVolumeGiB": 5,
        }}});
        let template = json!({"metadata": {"labels": labels}, "spec": machine});
        let spec =
            json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": template});
        self.world.create_machine_set(SET, json!({}), spec).await?;
        Ok(())
    }

    pub(crate) async fn scale(&self, size: usize) -> Result<()> {
        self.world.scale(SET, size).await
    }

    pub(crate) async fn delete_some(&self, dice: &mut fastrand::Rng, count: usize) -> Result<()> {
        let mut names = self.world.alive_machines().await?;
        dice.shuffle(&mut names);
        for name in names.into_iter().take(count) {
            match self.world.machines().delete(&name, &DeleteParams::default()).await {
                // It was deleted already.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                other => drop(other?),
            }
        }
        Ok(())
    }

    /// As `kill -9` does.
    pub(crate) async fn kill_the_third(&mut self) -> Result<()> {
        let Some(third) = self.replicas.last_mut() else { return Ok(()) };
        if let Some(running) = third.running.take() {
            running.kill().await?;
        }
        third.running = Some(self.subject.start(&third.launch).await?);
        Ok(())
    }

    /// Of those that live for the whole time.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        let lasting = self.replicas.iter().take(2);
        let ids = lasting.filter_map(|replica| replica.running.as_ref()?.id());
        ids.map(memory::resident_kib).sum()
    }

    pub(crate) fn instances_ever_made(&self) -> usize {
        self.cloud.sim.created()
    }

    /// Not even one after the other: no instance dies here.
    pub(crate) fn no_machine_has_two_instances(&self) -> Result<()> {
        let mut uids = HashSet::new();
        for instance in self.cloud.sim.instances() {
            let uid = instance.tags.get(TAG_MACHINE_UID).cloned();
            ensure!(uids.insert(uid), "{} is the second instance of its machine", instance.id);
        }
        Ok(())
    }

    /// The replica that holds one of the Leases, by the process id in its identity.
    pub(crate) async fn a_leader(&self, dice: &mut fastrand::Rng) -> Result<Option<&Replica>> {
        let leases: Api<Lease> = self.world.api();
        let leases = leases.list(&ListParams::default()).await?.items;
        let lease = dice.choice(leases).and_then(|lease| lease.spec);
        let holder = lease.and_then(|spec| spec.holder_identity).unwrap_or_default();
        let holds = |replica: &&Replica| {
            let id = replica.running.as_ref().and_then(RunningProcess::id);
            id.is_some_and(|id| holder.contains(&format!("_{id}_")))
        };
        Ok(self.replicas.iter().find(holds))
    }

    pub(crate) async fn lease_changes(&self) -> Result<String> {
        let leases: Api<Lease> = self.world.api();
        let changes = leases.list(&ListParams::default()).await?.items.into_iter().map(|lease| {
            let changes = lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
            format!("{} changed hands {} times", lease.name_any(), changes.unwrap_or_default())
        });
        Ok(changes.collect::<Vec<_>>().join(", "))
    }

    /// Exactly so many machines, each with instance and Node, and nothing else.
    pub(crate) async fn until_settled(&self, size: usize) -> Result<()> {
        let what = format!("{size} machines, and nothing else");
        poll::eventually(PATIENCE, &what, || self.ensure_settled(size)).await
    }

    async fn ensure_settled(&self, size: usize) -> Result<()> {
        let machines: Vec<DynamicObject> = self.world.all_machines().await?;
        let others: Vec<_> = machines.iter().filter(|one| !runs(one)).take(3).map(line).collect();
        ensure!(others.is_empty(), "{} machines, among them {others:#?}", machines.len());
        ensure!(machines.len() == size, "there are {} machines", machines.len());
        let nodes = self.world.nodes().list(&ListParams::default()).await?.items.len();
        let (live, volumes) = (self.cloud.sim.live(), self.cloud.sim.volumes());
        let seen = (nodes, live, volumes);
        ensure!(seen == (size, size, 2 * size), "nodes, instances and volumes: {seen:?}");
        let set = self.world.sets().get(SET).await?;
        let counts = ["replicas", "readyReplicas"]
            .map(|name| set.data["status"][name].as_u64().unwrap_or(0));
        ensure!(counts == [u64::try_from(size)?; 2], "the set counts {counts:?}");
        Ok(())
    }
}

fn subject() -> Result<ProcessSubject> {
    let own = std::env::current_exe()?;
    let program: PathBuf = own.parent().context("a folder")?.join("machinist");
    ensure!(program.exists(), "{} does not exist: build it first", program.display());
    let logs = own.parent().context("a folder")?.join("soak-logs");
    let lease = format!("--leader-elect-lease-duration={}s", LEASE.as_secs());
    Ok(ProcessSubject::new(program)
        .args([
            "run",
            "--controllers=machine,machineset,nodelink",
            "--leader-elect",
            "--leader-elect-resource-namespace={namespace}",
            &lease,
            "--metrics-bind-address=0",
            "--health-addr=0",
            "--sync-period=2m",
            "--time-scale=0.2",
            "--namespace={namespace}",
        ])
        .env(ENDPOINT_VARIABLE, "{cloud}")
        .env("RUST_LOG", "warn")
        .output(logs))
}
