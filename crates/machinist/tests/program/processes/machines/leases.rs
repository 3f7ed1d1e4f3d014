//! The controllers of machines hold OpenShift's own Leases, so they and a Go program never work at once; who holds
//! what is said in `/readyz`, in a metric and in the log. The Go program is real: the same leader election as in
//! OpenShift's controllers.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::ListParams;
use machinist_api::names::{LEASE_MACHINE, LEASE_MACHINE_SET, LEASE_NODE_LINK};
use machinist_testbed::faults::{LogEntry, Proxy};
use machinist_testbed::poll;
use serde_json::json;

use super::fleet::Fleet;
use super::life::SET;
use crate::processes::support::go_program::{GO_DURATION, GoProgram};
use crate::processes::support::process::Process;
use crate::processes::support::scene::{Scene, control_plane};
use crate::processes::support::time::{PATIENCE, holds_for};

/// A fleet, and the way of its process to the API server.
struct World {
    fleet: Fleet,
    proxy: Proxy,
}

impl World {
    async fn new(name: &str) -> Result<Self> {
        let scene = Scene::new(name).await?;
        let proxy = scene.proxy().await?;
        Ok(Self { fleet: Fleet::start(control_plane().await?, scene).await?, proxy })
    }

    fn scene(&self) -> &Scene {
        &self.fleet.scene
    }

    async fn process(&self, more: &[&str]) -> Result<Process> {
        let namespace = &self.scene().namespace;
        let flags = [
            "--controllers=machine,machineset,nodelink",
            "--namespace",
            namespace,
            "--leader-elect-resource-namespace",
            namespace,
            "--leader-elect-lease-duration=3s",
            "--time-scale=0.05",
        ];
        self.fleet.process(&self.proxy.kubeconfig(), &[&flags, more].concat()).await
    }

    async fn holder(&self, lease: &str) -> Result<String> {
        let spec = self.scene().leases().get(lease).await?.spec.context("a spec")?;
        Ok(spec.holder_identity.unwrap_or_default())
    }

    /// Waits until this process holds a Lease and everybody can see that, and returns what it calls itself.
    async fn leads(&self, process: &Process, controller: &str, lease: &str) -> Result<String> {
        let leader = format!(r#"machinist_leader{{controller="{controller}"}}"#);
        process.wait_metric(&leader, |value| value > 0.5).await?;
        let holder = self.holder(lease).await?;
        ensure!(process.is_called(&holder), "{holder} has {lease}");
        let key = format!("{}/{lease}", self.scene().namespace);
        let said = format!("lease {key} is held by {holder}, which is this process");
        process.wait_says(&said).await?;
        self.metric_names(process, lease, &holder).await?;
        Ok(holder)
    }

    /// Waits until this process reports everywhere that another process holds a Lease.
    async fn follows(
        &self,
        process: &Process,
        controller: &str,
        lease: &str,
        holder: &str,
    ) -> Result<()> {
        let key = format!("{}/{lease}", self.scene().namespace);
        let said = format!("lease {key} is held by {holder}, so controller {controller} follows");
        process.wait_says(&said).await?;
        self.metric_names(process, lease, holder).await?;
        let leader = format!(r#"machinist_leader{{controller="{controller}"}}"#);
        ensure!(process.metric(&leader).await? == Some(0.0), "it says that it leads");
        let log = process.log()?;
        let told = |line: &str| [&*key, holder, "following"].iter().all(|word| line.contains(word));
        ensure!(log.lines().any(told), "the log does not say who has {lease}");
        Ok(())
    }

    async fn metric_names(&self, process: &Process, lease: &str, holder: &str) -> Result<()> {
        let namespace = &self.scene().namespace;
        let series =
            format!(r#"machinist_lease_holder{{lease="{namespace}/{lease}",holder="{holder}"}}"#);
        process.wait_metric(&series, |value| value > 0.5).await
    }

    /// What the machine controller has asked to be written.
    fn writes_of_machine(&self) -> Vec<LogEntry> {
        let mut entries = self.proxy.log().entries();
        entries.retain(|entry| {
            entry.request.verb.is_write()
                && entry.request.user_agent.starts_with("machinist-machine/")
        });
        entries
    }

    /// Waits until the set has a Machine, which only needs the MachineSet controller.
    async fn machine_is_asked_for(&self) -> Result<()> {
        poll::eventually(PATIENCE, "a Machine", || async {
            let machines = self.fleet.machines().list(&ListParams::default()).await?.items;
            ensure!(machines.len() == 1, "there are {}", machines.len());
            Ok(())
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_lease_that_a_go_program_holds_rests_one_controller_until_it_dies() -> Result<()> {
    let world = World::new("go-holds").await?;
    let mut go = GoProgram::start(control_plane().await?, world.scene(), LEASE_MACHINE).await?;
    let holder = go.holds(world.scene(), LEASE_MACHINE, "").await?;
    let process = world.process(&[]).await?;
    world.follows(&process, "machine", LEASE_MACHINE, &holder).await?;
    world.leads(&process, "machineset", LEASE_MACHINE_SET).await?;
    world.leads(&process, "nodelink", LEASE_NODE_LINK).await?;

    world.fleet.create_set(SET, json!({})).await?;
    world.fleet.scale(SET, 1).await?;
    world.machine_is_asked_for().await?;
    holds_for(GO_DURATION * 2, "the Go program keeps its Lease", async || {
        go.ensure_alive()?;
        ensure!(world.holder(LEASE_MACHINE).await? == holder, "it was taken from a live holder");
        let writes = world.writes_of_machine();
        ensure!(writes.is_empty(), "written without the Lease: {}", writes[0]);
        ensure!(world.fleet.cloud.created() == 0, "an instance was made without the Lease");
        Ok(())
    })
    .await?;

    go.kill().await?;
    world.leads(&process, "machine", LEASE_MACHINE).await?;
    world.fleet.running(1).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_go_program_waits_for_us_and_gives_way_to_take_over() -> Result<()> {
    let world = World::new("go-waits").await?;
    let mut process = world.process(&[]).await?;
    let mut me = String::new();
    for (controller, lease) in [
        ("machineset", LEASE_MACHINE_SET),
        ("nodelink", LEASE_NODE_LINK),
        ("machine", LEASE_MACHINE),
    ] {
        me = world.leads(&process, controller, lease).await?;
    }
    let mut go = GoProgram::start(control_plane().await?, world.scene(), LEASE_MACHINE).await?;
    holds_for(GO_DURATION * 2, "the Go program waits", async || {
        go.ensure_alive()?;
        let holder = world.holder(LEASE_MACHINE).await?;
        ensure!(holder == me, "{holder} took it from us");
        Ok(())
    })
    .await?;
    process.terminate().await?;
    let holder = go.holds(world.scene(), LEASE_MACHINE, &me).await?;

    world.fleet.create_set(SET, json!({})).await?;
    world.fleet.scale(SET, 1).await?;
    let began = world.proxy.log().now();
    let process = world.process(&["--take-over"]).await?;
    go.wait_ended().await?;
    let me = world.leads(&process, "machine", LEASE_MACHINE).await?;
    ensure!(me != holder, "the Go program has it");
    world.fleet.running(1).await?;
    let waited = first_write_after_taking(&world, began)?;
    // Until then it might have had a write under way.
    assert!(waited >= GO_DURATION, "written {waited:?} after the Lease was taken");
    Ok(())
}

/// How long after the Lease was taken the machine controller wrote for the first time.
fn first_write_after_taking(world: &World, began: Duration) -> Result<Duration> {
    let entries = world.proxy.log().entries();
    let taken = entries.iter().find(|entry| {
        let request = &entry.request;
        entry.at > began
            && request.verb.is_write()
            && request.name.as_deref() == Some(LEASE_MACHINE)
    });
    let taken = taken.context("the Lease was never taken")?.at;
    let writes = world.writes_of_machine();
    let first = writes.iter().find(|entry| entry.at > began).context("nothing was written")?;
    Ok(first.at.saturating_sub(taken))
}
