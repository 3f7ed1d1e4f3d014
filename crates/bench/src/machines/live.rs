use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_api::resource::EVENTS;
use machinist_testbed::audit::AuditEntry;
use serde_json::json;
use tokio::time::Instant;

use super::footprint::Footprint;
use super::sets::{self, Owner};
use super::stage::{Audit, Stage};
use crate::Options;
use crate::audit_window::{AuditWindow, MACHINIST, Span};
use crate::machinist::{Running, before_work};
use crate::memory::Memory;

/// What was seen of instances serves for half a minute, and is then forgotten within another half.
const REST: Duration = Duration::from_secs(65);
/// From the last write, before requests of the settled program are counted.
const UNTIL_IDLE: Duration = Duration::from_secs(30);
/// A base, and so much for each machine.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(120), Duration::from_millis(200));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Create,
    Run,
    /// From one template to the next, of Machines that run.
    Roll,
}

impl Work {
    pub(super) fn controllers(self, owner: Owner) -> String {
        let controllers = match self {
            Self::Create => "machineset",
            Self::Run | Self::Roll => "machine,machineset,nodelink",
        };
        match owner {
            Owner::MachineSet => controllers.to_owned(),
            Owner::MachineDeployment => format!("{controllers},machinedeployment"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Live {
    work: Work,
    owner: Owner,
    stage: Stage,
    sets: usize,
    machines: usize,
    window: AuditWindow,
    span: Span,
    empty: Memory,
    running: Running,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) seconds: f64,
    /// Before there was anything to do.
    pub(super) empty: Memory,
    pub(super) soon: Memory,
    pub(super) memory: Memory,
    pub(super) calls: Calls,
    /// `None` where there are no Nodes.
    pub(super) footprint: Option<Footprint>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Calls {
    /// Of the controllers apart from Events, those that were refused included.
    pub(super) writes: usize,
    pub(super) events: usize,
    /// Events included.
    pub(super) refused: usize,
    pub(super) reads: usize,
    pub(super) cloud: usize,
}

/// A removal or a rollout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) seconds: f64,
    pub(super) calls: Calls,
}

impl Live {
    pub(super) async fn run(
        (work, owner): (Work, Owner),
        machines: usize,
        per_set: usize,
        audit: Audit,
        options: &Options,
    ) -> Result<Self> {
        let (stage, sets) = (Stage::start(audit).await?, machines / per_set);
        sets::create_namespaces(&stage.cluster.setup, sets).await?;
        let mut running = stage.program(&work.controllers(owner), options)?.start()?;
        tokio::time::sleep(before_work(options)).await;
        let empty = running.memory()?;
        let mut window = stage.cluster.audit_window()?;
        owner.create(&stage.cluster.setup, sets, per_set).await?;
        let limit = Instant::now() + patience(machines);
        let span = loop {
            let span = window.wait_until_quiet(MACHINIST, limit).await?;
            let (all, running) = sets::machines(&stage.cluster.setup).await?;
            let done = if work == Work::Create { all } else { running };
            if all == machines && done == machines {
                break span;
            }
            ensure!(Instant::now() < limit, "{done} of {machines} machines are done");
        };
        let seconds = span.seconds();
        println!("  ours {seconds:.2} s");
        Ok(Self { work, owner, stage, sets, machines, window, span, empty, running })
    }

    pub(super) async fn measure(&mut self, options: &Options) -> Result<Run> {
        let (empty, seconds) = (self.empty, self.span.seconds());
        tokio::time::sleep(options.settle()).await;
        let soon = self.running.memory()?;
        self.window.refresh()?;
        let calls = calls(&self.window, self.stage.cloud_calls());
        tokio::time::sleep(REST).await;
        let memory = self.running.memory()?;
        let mib = [empty, soon, memory].map(|memory| memory.anonymous);
        println!(
            "  MiB of its own: {:.2} empty, {:.2} soon, {:.2} at rest",
            mib[0], mib[1], mib[2]
        );
        let footprint = match self.work {
            Work::Create => None,
            Work::Run | Work::Roll => Some(Footprint::read(&self.stage.cluster.setup).await?),
        };
        Ok(Run { seconds, empty, soon, memory, calls, footprint })
    }

    /// Also the cloud's, in the order in which they were answered.
    pub(super) fn entries(&self) -> &[AuditEntry] {
        self.window.entries()
    }

    pub(super) async fn idle_requests(&mut self, options: &Options) -> Result<usize> {
        // A little longer, for the log to be complete.
        tokio::time::sleep(UNTIL_IDLE + options.idle() + Duration::from_secs(1)).await;
        // It must have lived through it all.
        self.running.memory()?;
        self.window.refresh()?;
        let start = self.span.last + UNTIL_IDLE;
        Ok(self.window.print_needless(start, options.idle()))
    }

    /// Waits until nothing is left of the machines anywhere.
    pub(super) async fn remove(&mut self) -> Result<Change> {
        let (mut window, before) = (self.stage.cluster.audit_window()?, self.stage.cloud_calls());
        let nothing = json!({"spec": {"replicas": 0}});
        self.owner.change(&self.stage.cluster.setup, self.sets, &nothing).await?;
        let limit = Instant::now() + patience(self.machines);
        let span = loop {
            let span = window.wait_until_quiet(MACHINIST, limit).await?;
            let (machines, _) = sets::machines(&self.stage.cluster.setup).await?;
            let nodes = sets::nodes(&self.stage.cluster.setup).await?;
            let instances = self.stage.cloud.sim.live();
            if machines + nodes + instances == 0 {
                break span;
            }
            let left = format!("{machines} machines, {nodes} nodes, {instances} instances");
            ensure!(Instant::now() < limit, "there are still {left}");
        };
        let seconds = span.seconds();
        println!("  removed in {seconds:.2} s");
        let calls = calls(&window, self.stage.cloud_calls() - before);
        Ok(Change { seconds, calls })
    }

    /// Replaces every Machine; the writes go on in the same record.
    pub(super) async fn roll(&mut self) -> Result<Change> {
        let (mut window, before) = (self.stage.cluster.audit_window()?, self.stage.cloud_calls());
        let larger = json!({"spec": {"template": {"spec": {"providerSpec": {"value": {
            "instanceType": "sim.large",
        }}}}}});
        let setup = &self.stage.cluster.setup;
        self.owner.change(setup, self.sets, &larger).await?;
        let limit = Instant::now() + patience(self.machines) * 2;
        let span = loop {
            let span = window.wait_until_quiet(MACHINIST, limit).await?;
            if sets::have_rolled(setup, self.machines / self.sets).await? {
                break span;
            }
            ensure!(Instant::now() < limit, "the rollout is not complete");
        };
        let seconds = span.seconds();
        println!("  rolled in {seconds:.2} s");
        let calls = calls(&window, self.stage.cloud_calls() - before);
        self.window.refresh()?;
        Ok(Change { seconds, calls })
    }

    pub(super) async fn end(self) -> Result<()> {
        self.running.stop().await.context("the program")
    }
}

fn patience(machines: usize) -> Duration {
    PATIENCE.0 + PATIENCE.1 * u32::try_from(machines).unwrap_or(u32::MAX)
}

fn calls(window: &AuditWindow, cloud: usize) -> Calls {
    let mut calls = Calls { cloud, reads: window.reads(MACHINIST).count(), ..Calls::default() };
    let mut kinds = BTreeMap::<_, usize>::new();
    for entry in window.writes(MACHINIST) {
        let AuditEntry { user_agent, verb, resource, subresource, code, .. } = entry;
        *kinds.entry((user_agent, verb, resource, subresource, code)).or_default() += 1;
        calls.refused += usize::from(*code >= 300);
        if *resource == EVENTS.plural {
            calls.events += 1;
        } else {
            calls.writes += 1;
        }
    }
    for ((agent, verb, resource, part, code), count) in kinds {
        println!("  {count:6} {agent} {verb} {resource} {part} {code}");
    }
    calls
}
