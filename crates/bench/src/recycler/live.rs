use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::Instant;

use super::stage::{ONE_OF, Stage};
use crate::Options;
use crate::audit_window::MACHINIST;
use crate::machinist::{Running, before_work};
use crate::memory::Memory;

/// After the last write Events may still follow.
const BEFORE_REST: Duration = Duration::from_secs(30);
/// So frequent that the measured memory includes lists of everything.
const LISTS: &str = "--sync-period=15s";
/// Long enough for some of those lists.
const LISTED: Duration = Duration::from_secs(40);
const PATIENCE: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Live {
    running: Running,
    empty: Memory,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// From its arrival to its being counted.
    pub(super) cpu_us_per_event: f64,
    pub(super) writes: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    pub(super) requests: usize,
    pub(super) cpu_ms: f64,
}

impl Live {
    /// The cluster is empty at first, then gets its Nodes and Pods.
    pub(super) async fn start(stage: &Stage, options: &Options) -> Result<Self> {
        let mut running = stage.program(options, &[])?.start()?;
        tokio::time::sleep(before_work(options)).await;
        let empty = running.memory()?;
        stage.furnish().await?;
        tokio::time::sleep(options.settle()).await;
        Ok(Self { running, empty })
    }

    pub(super) async fn load(&mut self, stage: &Stage, events: usize) -> Result<Load> {
        let mut window = stage.cluster.audit_window()?;
        let before = self.running.cpu()?;
        stage.happen(events).await?;
        let wanted = i64::try_from(events.div_ceil(ONE_OF))?;
        let limit = Instant::now() + PATIENCE;
        loop {
            let counted = stage.counted().await?;
            if counted == wanted {
                break;
            }
            ensure!(counted < wanted, "{counted} events were counted, and there are {wanted}");
            ensure!(Instant::now() < limit, "{counted} of {wanted} events were counted");
            tokio::time::sleep(POLL).await;
        }
        let spent = self.running.cpu()?.saturating_sub(before);
        window.refresh()?;
        let each = spent.as_secs_f64() * 1e6 / crate::statistics::count(events);
        println!("  {each:.1} us for each event");
        Ok(Load { cpu_us_per_event: each, writes: window.writes(MACHINIST).count() })
    }

    /// From half a minute after the last write on.
    pub(super) async fn idle(&mut self, stage: &Stage, options: &Options) -> Result<Idle> {
        tokio::time::sleep(BEFORE_REST).await;
        let mut window = stage.cluster.audit_window()?;
        let (start, before) = (jiff::Timestamp::now(), self.running.cpu()?);
        // A little longer, for the log to be complete.
        tokio::time::sleep(options.idle() + Duration::from_secs(1)).await;
        let cpu = self.running.cpu()?.saturating_sub(before);
        window.refresh()?;
        let needless = window.print_needless(start, options.idle());
        Ok(Idle { requests: needless, cpu_ms: cpu.as_secs_f64() * 1e3 })
    }

    pub(super) fn memory(&mut self) -> Result<Memory> {
        self.running.memory()
    }

    /// Returns what it had when it had seen nothing.
    pub(super) async fn end(self) -> Result<Memory> {
        self.running.stop().await?;
        Ok(self.empty)
    }
}

pub(super) async fn after_lists(stage: &Stage, options: &Options) -> Result<Memory> {
    let mut running = stage.program(options, &[LISTS])?.start()?;
    tokio::time::sleep(LISTED + before_work(options)).await;
    let memory = running.memory()?;
    running.stop().await?;
    Ok(memory)
}
