//! Drains the Node of a machine that goes: cordon, evict, wait for pods and volumes. One step per pass, and never a wait within one.
//!
//! A part of the machine controller with the same stages as the whole. Input: the machine, its Node from the cache, and, only once the drain has
//! begun, live lists of what is on it. Output: a cordon, evictions, the condition `Drained` and Events.
//!
//! What must survive a crash is on the Node (the cordon, and since when) and in the condition (the step, and since when). Refused evictions
//! are remembered in memory only ([`memory`]): the budgets will refuse them again. Hooks before the instance is deleted
//! (preTerminate), and the removal of the Node, are not here.

mod act;
pub mod decide;
pub mod memory;
mod observe;
pub mod plan;
pub mod report;
pub mod snapshot;
mod volumes;

use std::sync::Arc;

use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::cache::Cache;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::Session;
use machinist_runtime::writer::Writer;

pub use self::decide::decide;
use self::memory::Memory;
pub use self::plan::{Done, Effect, Verdict};
pub use self::report::{Told, report};
pub use self::snapshot::{Subject, View};
use self::volumes::Attachments;
use crate::kinds::Nodes;

/// Looks at nodes and empties them.
#[derive(Debug)]
pub struct Drainer {
    nodes: Arc<Cache<Nodes>>,
    session: Session,
    attachments: Attachments,
    memory: Memory,
    /// Held while a control-plane node is cordoned, so that no two are at once. One process leads, so this is enough.
    control_plane: tokio::sync::Mutex<()>,
    clock: SharedClock,
    timings: MachineTimings,
}

impl Drainer {
    /// A drainer of the nodes in `nodes`; `session` reads what is on them, in the same cluster.
    pub fn new(
        nodes: Arc<Cache<Nodes>>,
        session: Session,
        clock: SharedClock,
        timings: MachineTimings,
    ) -> Self {
        Self {
            attachments: Attachments::new(session.clone(), clock.clone()),
            nodes,
            session,
            memory: Memory::default(),
            control_plane: tokio::sync::Mutex::default(),
            clock,
            timings,
        }
    }

    /// Looks at what the drain of `subject` needs to know next. What cannot be found out is in the view, too.
    pub async fn observe(&self, subject: Subject) -> View {
        observe::observe(self, subject).await
    }

    /// Carries a verdict out.
    pub async fn act(&self, view: &View, verdict: &Verdict, writer: &Writer) -> Done {
        act::act(self, view, verdict, writer).await
    }

    /// Forgets a machine that is gone.
    pub fn forget(&self, machine: &Uid) {
        self.memory.forget(machine);
    }
}
