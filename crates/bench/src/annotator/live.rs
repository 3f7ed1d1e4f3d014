use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_api::resource::{EVENTS, MACHINE_SETS};
use machinist_testbed::audit::AuditEntry;

use crate::audit_window::{AuditWindow, MACHINIST, Span};
use crate::bed::Bed;
use crate::fleet::Fleet;
use crate::machinist::Running;
use crate::memory::Memory;

const ANNOTATOR: &str = "machinist-annotator";
/// From the last write, before requests of the settled program are counted.
const UNTIL_IDLE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Live {
    fleet: Fleet,
    window: AuditWindow,
    span: Span,
    cloud_calls_before: usize,
    running: Option<Running>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) seconds: f64,
    pub(super) memory: Memory,
    pub(super) writes: usize,
    pub(super) reads: usize,
    pub(super) events: usize,
    pub(super) cloud_calls: usize,
}

impl Live {
    pub(super) async fn run(bed: &Bed, objects: usize) -> Result<Self> {
        let fleet = bed.fleet(objects).await?;
        bed.quiet().await;
        let mut window = bed.cluster.audit_window()?;
        let cloud_calls_before = bed.cloud_calls();
        let running = bed.program.start()?;
        let span = window.wait_for_writes(ANNOTATOR, MACHINE_SETS.plural, objects).await?;
        Ok(Self { fleet, window, span, cloud_calls_before, running: Some(running) })
    }

    pub(super) fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// In the order in which they were answered.
    pub(super) fn writes(&self) -> impl Iterator<Item = &AuditEntry> {
        self.window.writes(ANNOTATOR)
    }

    pub(super) async fn measure(&mut self, bed: &Bed, settle: Duration) -> Result<Run> {
        tokio::time::sleep(settle).await;
        let memory = self.running()?.memory()?;
        self.window.refresh()?;
        let writes = || self.window.writes(MACHINIST);
        let seconds = self.span.seconds();
        println!("  ours {seconds:.2} s, {:.2} MiB of its own", memory.anonymous);
        Ok(Run {
            seconds,
            memory,
            writes: writes().count(),
            reads: self.window.reads(MACHINIST).count(),
            events: writes().filter(|entry| entry.resource == EVENTS.plural).count(),
            cloud_calls: bed.cloud_calls() - self.cloud_calls_before,
        })
    }

    pub(super) async fn idle_requests(&mut self, duration: Duration) -> Result<usize> {
        // A little longer, for the log to be complete.
        tokio::time::sleep(UNTIL_IDLE + duration + Duration::from_secs(1)).await;
        // It must have lived through it all.
        self.running()?.memory()?;
        self.window.refresh()?;
        let start = self.span.last + UNTIL_IDLE;
        Ok(self.window.print_needless(start, duration))
    }

    fn running(&mut self) -> Result<&mut Running> {
        self.running.as_mut().context("the program was stopped")
    }

    pub(super) async fn stop(&mut self) -> Result<()> {
        match self.running.take() {
            Some(running) => running.stop().await,
            None => Ok(()),
        }
    }

    pub(super) async fn end(mut self, bed: &Bed) -> Result<()> {
        self.stop().await?;
        let members = self.fleet.now(&bed.cluster.setup).await?;
        let bare = members.values().filter(|member| !member.is_annotated()).count();
        ensure!(bare == 0, "{bare} of {} MachineSets have no annotations", members.len());
        self.fleet.delete(&bed.cluster.setup).await
    }
}
