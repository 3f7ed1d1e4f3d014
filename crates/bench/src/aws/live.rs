use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_api::resource::EVENTS;
use tokio::time::Instant;

use super::stage::Stage;
use crate::Options;
use crate::audit_window::{AuditWindow, MACHINIST, Span};
use crate::machinist::{Running, before_work};
use crate::memory::Memory;

/// What was seen of instances serves for half a minute, and is then forgotten within another half.
const REST: Duration = Duration::from_secs(65);
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct Live {
    stage: Stage,
    machines: usize,
    window: AuditWindow,
    span: Span,
    empty: Memory,
    cloud_calls: usize,
    running: Running,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) seconds: f64,
    /// Before there was anything to do.
    pub(super) empty: Memory,
    pub(super) soon: Memory,
    /// When it has come to rest.
    pub(super) memory: Memory,
    /// Until all machines were Provisioned.
    pub(super) cloud_calls: usize,
    /// Without Events.
    pub(super) writes: usize,
    pub(super) events: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    pub(super) api_requests: usize,
    pub(super) cloud_calls: usize,
}

impl Live {
    pub(super) async fn run(machines: usize, options: &Options) -> Result<Self> {
        let stage = Stage::start().await?;
        let mut running = stage.program(options)?.start()?;
        tokio::time::sleep(before_work(options)).await;
        let empty = running.memory()?;
        let mut window = stage.cluster.audit_window()?;
        stage.create_set(machines).await?;
        let limit = Instant::now() + PATIENCE;
        let span = loop {
            let span = window.wait_until_quiet(MACHINIST, limit).await?;
            let done = stage.provisioned().await?;
            if done == machines {
                break span;
            }
            ensure!(Instant::now() < limit, "{done} of {machines} machines are Provisioned");
        };
        let calls = stage.cloud_calls();
        let instances = stage.instances().await?;
        ensure!(instances == machines, "{instances} instances for {machines} machines");
        println!("  ours {:.2} s", span.seconds());
        print_counts(&calls);
        let cloud_calls = calls.len();
        Ok(Self { stage, machines, window, span, empty, cloud_calls, running })
    }

    pub(super) async fn measure(&mut self, options: &Options) -> Result<Run> {
        tokio::time::sleep(options.settle()).await;
        let soon = self.running.memory()?;
        self.window.refresh()?;
        let is_event = |resource: &str| -> bool { resource == EVENTS.plural };
        let all = self.window.writes(MACHINIST).count();
        let events = self.window.writes(MACHINIST).filter(|one| is_event(&one.resource)).count();
        tokio::time::sleep(REST).await;
        let memory = self.running.memory()?;
        let empty = self.empty;
        let mib = [empty, soon, memory].map(|memory| memory.anonymous);
        println!(
            "  {} machines, MiB of its own: {:.2} empty, {:.2} soon, {:.2} at rest",
            self.machines, mib[0], mib[1], mib[2]
        );
        Ok(Run {
            seconds: self.span.seconds(),
            empty,
            soon,
            memory,
            cloud_calls: self.cloud_calls,
            writes: all - events,
            events,
        })
    }

    pub(super) async fn idle(&mut self, options: &Options) -> Result<Idle> {
        let mut window = self.stage.cluster.audit_window()?;
        let before = self.stage.cloud_calls().len();
        let start = jiff::Timestamp::now();
        // A little longer, for the log to be complete.
        tokio::time::sleep(options.idle() + Duration::from_secs(1)).await;
        // It must have lived through it.
        self.running.memory()?;
        window.refresh()?;
        let needless = window.print_needless(start, options.idle());
        let calls = self.stage.cloud_calls();
        print_counts(&calls[before..]);
        Ok(Idle { api_requests: needless, cloud_calls: calls.len() - before })
    }

    pub(super) async fn end(self) -> Result<()> {
        self.running.stop().await.context("the program")
    }
}

fn print_counts(calls: &[String]) {
    let mut counts = BTreeMap::<_, usize>::new();
    for action in calls {
        *counts.entry(action).or_default() += 1;
    }
    for (action, count) in counts {
        println!("  {count:6} {action}");
    }
}
