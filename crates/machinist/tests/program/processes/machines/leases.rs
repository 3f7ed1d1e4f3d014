//! The controllers of machines hold OpenShift's own Leases, so they and a Go program never work at once; who holds
//! what `/readyz`, a metric and the log show. The Go program is real: the same leader election as in
//! OpenShift's controllers.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_api::names::{LEASE_MACHINE, LEASE_MACHINE_SET, LEASE_NODE_LINK};
use machinist_testbed::faults::LogEntry;
use serde_json::json;

use super::fleet::Fleet;
use super::life::SET;
use crate::processes::support::go_program::{GO_DURATION, GoProgram};
use crate::processes::support::process::Process;
use crate::processes::support::time::holds_for;
use crate::processes::support::world::{AnnotatorWorld, control_plane};

async fn new_fleet(name: &str) -> Result<Fleet> {
    Fleet::start(AnnotatorWorld::new(name).await?).await
}

impl Fleet {
    /// Starts a process that needs leases, behind the proxy.
    async fn elected(&self, more: &[&str]) -> Result<Process> {
        let namespace = &self.namespace;
        let flags = [
            "--controllers=machine,machineset,nodelink",
            "--namespace",
            namespace,
            "--leader-elect-resource-namespace",
            namespace,
            "--leader-elect-lease-duration=6s",
            "--time-scale=0.05",
        ];
        self.process(&self.proxy.kubeconfig(), &[&flags, more].concat()).await
    }

    async fn holder(&self, lease: &str) -> Result<String> {
        let spec = self.leases().get(lease).await?.spec.context("a spec")?;
        Ok(spec.holder_identity.unwrap_or_default())
    }

    /// Waits until this process holds a Lease and `/readyz` and metrics show it, and returns its identity.
    async fn leads(&self, process: &Process, controller: &str, lease: &str) -> Result<String> {
        let leader = format!(r#"machinist_leader{{controller="{controller}"}}"#);
        process.wait_metric(&leader, |value| value > 0.5).await?;
        let holder = self.holder(lease).await?;
        ensure!(process.is_called(&holder), "{holder} has {lease}");
        let key = format!("{}/{lease}", self.namespace);
        let text = format!("lease {key} is held by {holder}, which is this process");
        process.wait_ready_with(&text).await?;
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
        let key = format!("{}/{lease}", self.namespace);
        let text = format!("lease {key} is held by {holder}, so controller {controller} follows");
        process.wait_ready_with(&text).await?;
        self.metric_names(process, lease, holder).await?;
        let leader = format!(r#"machinist_leader{{controller="{controller}"}}"#);
        ensure!(process.metric(&leader).await? == Some(0.0), "it says that it leads");
        let log = process.log()?;
        let names_holder =
            |line: &str| [&*key, holder, "following"].iter().all(|word| line.contains(word));
        ensure!(log.lines().any(names_holder), "the log does not say who has {lease}");
        Ok(())
    }

    async fn metric_names(&self, process: &Process, lease: &str, holder: &str) -> Result<()> {
        let namespace = &self.namespace;
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
        self.eventually("a Machine", || async {
            let machines = self.all_machines().await?;
            ensure!(machines.len() == 1, "there are {}", machines.len());
            Ok(())
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_lease_that_a_go_program_holds_rests_one_controller_until_it_dies() -> Result<()> {
    let fleet = new_fleet("go-holds").await?;
    let mut go = GoProgram::start(control_plane().await?, &fleet, LEASE_MACHINE).await?;
    let holder = go.holds(&fleet, LEASE_MACHINE, "").await?;
    let process = fleet.elected(&[]).await?;
    fleet.follows(&process, "machine", LEASE_MACHINE, &holder).await?;
    fleet.leads(&process, "machineset", LEASE_MACHINE_SET).await?;
    fleet.leads(&process, "nodelink", LEASE_NODE_LINK).await?;

    fleet.create_sim_set(SET, json!({})).await?;
    fleet.scale(SET, 1).await?;
    fleet.machine_is_asked_for().await?;
    holds_for(GO_DURATION * 3 / 2, "the Go program keeps its Lease", async || {
        go.ensure_alive()?;
        ensure!(fleet.holder(LEASE_MACHINE).await? == holder, "it was taken from a live holder");
        let writes = fleet.writes_of_machine();
        ensure!(writes.is_empty(), "written without the Lease: {}", writes[0]);
        ensure!(fleet.cloud().created() == 0, "an instance was made without the Lease");
        Ok(())
    })
    .await?;

    go.kill().await?;
    fleet.leads(&process, "machine", LEASE_MACHINE).await?;
    fleet.running(1).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_go_program_waits_for_us_and_gives_way_to_take_over() -> Result<()> {
    let fleet = new_fleet("go-waits").await?;
    let mut process = fleet.elected(&[]).await?;
    let mut me = String::new();
    for (controller, lease) in [
        ("machineset", LEASE_MACHINE_SET),
        ("nodelink", LEASE_NODE_LINK),
        ("machine", LEASE_MACHINE),
    ] {
        me = fleet.leads(&process, controller, lease).await?;
    }
    let mut go = GoProgram::start(control_plane().await?, &fleet, LEASE_MACHINE).await?;
    holds_for(GO_DURATION * 3 / 2, "the Go program waits", async || {
        go.ensure_alive()?;
        let holder = fleet.holder(LEASE_MACHINE).await?;
        ensure!(holder == me, "{holder} took it from us");
        Ok(())
    })
    .await?;
    process.terminate().await?;
    let holder = go.holds(&fleet, LEASE_MACHINE, &me).await?;

    fleet.create_sim_set(SET, json!({})).await?;
    fleet.scale(SET, 1).await?;
    let began = fleet.proxy.log().now();
    let process = fleet.elected(&["--take-over"]).await?;
    go.wait_ended().await?;
    let me = fleet.leads(&process, "machine", LEASE_MACHINE).await?;
    ensure!(me != holder, "the Go program has it");
    fleet.running(1).await?;
    let waited = first_write_after_taking(&fleet, began)?;
    // Until then it might have had a write under way.
    assert!(waited >= GO_DURATION, "written {waited:?} after the Lease was taken");
    Ok(())
}

/// How long after the Lease was taken the machine controller wrote for the first time.
fn first_write_after_taking(fleet: &Fleet, began: Duration) -> Result<Duration> {
    let entries = fleet.proxy.log().entries();
    let taken = entries.iter().find(|entry| {
        let request = &entry.request;
        entry.at > began
            && request.verb.is_write()
            && request.name.as_deref() == Some(LEASE_MACHINE)
    });
    let taken = taken.context("the Lease was never taken")?.at;
    let writes = fleet.writes_of_machine();
    let first = writes.iter().find(|entry| entry.at > began).context("nothing was written")?;
    Ok(first.at.saturating_sub(taken))
}
