//! One run of the real program over fresh MachineSets, in a namespace of its own.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_api::resource::{EVENTS, MACHINE_SETS};
use machinist_control_plane::AuditEntry;

use crate::audit_window::{AuditWindow, Span};
use crate::bed::Bed;
use crate::fleet;
use crate::machinist::Running;
use crate::memory::Memory;

/// All of machinist's user agents begin like this.
const MACHINIST: &str = "machinist-";
const ANNOTATOR: &str = "machinist-annotator";
/// From the last write to the stretch in which requests of the settled program are counted.
const UNTIL_IDLE: Duration = Duration::from_secs(30);

/// A program that has annotated everything and is still there.
#[derive(Debug)]
pub(super) struct Live {
    namespace: String,
    window: AuditWindow,
    span: Span,
    running: Option<Running>,
}

/// What one run cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) seconds: f64,
    pub(super) memory: Memory,
    pub(super) writes: usize,
    pub(super) reads: usize,
    pub(super) events: usize,
}

impl Live {
    /// Creates `objects` MachineSets, starts the program, and waits for its last write.
    pub(super) async fn run(bed: &Bed, objects: usize) -> Result<Self> {
        let namespace = bed.namespace().await?;
        fleet::create(&bed.setup, &namespace, objects).await?;
        bed.quiet().await;
        let mut window = bed.audit_window()?;
        let running = bed.program.start(&namespace)?;
        let span = window.wait_for_writes(ANNOTATOR, MACHINE_SETS.plural, objects).await?;
        Ok(Self { namespace, window, span, running: Some(running) })
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The annotator's writes, in the order in which they were answered.
    pub(super) fn writes(&self) -> impl Iterator<Item = &AuditEntry> {
        self.window.writes(ANNOTATOR)
    }

    /// What it cost, when it has come to rest.
    pub(super) async fn measure(&mut self, settle: Duration) -> Result<Run> {
        tokio::time::sleep(settle).await;
        let memory = self.running()?.memory()?;
        self.window.refresh()?;
        let writes = || self.window.writes(MACHINIST);
        Ok(Run {
            seconds: self.span.seconds(),
            memory,
            writes: writes().count(),
            reads: self.window.reads(MACHINIST).count(),
            events: writes().filter(|entry| entry.resource == EVENTS.plural).count(),
        })
    }

    /// How many requests it makes in `duration` without any need. They are printed: a number alone helps nobody.
    pub(super) async fn idle_requests(&mut self, duration: Duration) -> Result<usize> {
        // A little longer, for the log to be complete.
        tokio::time::sleep(UNTIL_IDLE + duration + Duration::from_secs(1)).await;
        // It must have lived through it all.
        self.running()?.memory()?;
        self.window.refresh()?;
        let start = self.span.last + UNTIL_IDLE;
        let needless: Vec<_> = self.window.needless(MACHINIST, start, duration).collect();
        for entry in &needless {
            println!("  idle: {} {} {}", entry.user_agent, entry.verb, entry.request_uri);
        }
        Ok(needless.len())
    }

    fn running(&mut self) -> Result<&mut Running> {
        self.running.as_mut().context("the program was stopped")
    }

    /// Ends the program; the objects stay.
    pub(super) async fn stop(&mut self) -> Result<()> {
        match self.running.take() {
            Some(running) => running.stop().await,
            None => Ok(()),
        }
    }

    /// Ends the program, checks that its work is done, and removes the objects.
    pub(super) async fn end(mut self, bed: &Bed) -> Result<()> {
        self.stop().await?;
        let members = fleet::list(&bed.setup, &self.namespace).await?;
        let bare = members.values().filter(|member| !member.is_annotated()).count();
        ensure!(bare == 0, "{bare} of {} MachineSets have no annotations", members.len());
        fleet::delete(&bed.setup, &self.namespace).await
    }
}
