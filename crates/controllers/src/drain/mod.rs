//! Drains Nodes: cordon, evict, wait for pods and volumes. One step per reconcile; no stage waits.
//!
//! Used by the machine controller and the recycler, with the stages of a controller. State that must survive a crash is
//! on the Node ([`Mark`]) and in the condition `Drained` ([`Step`]). preTerminate hooks and the deletion of the Node
//! are not here.

mod act;
mod attempt;
mod decide;
mod mark;
mod memory;
mod messages;
pub(crate) mod node_match;
mod observe;
mod plan;
mod pod;
mod pod_action;
mod report;
mod snapshot;
mod step;
mod timeout;
mod volumes;

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::cache::Cache;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::Session;

use self::attempt::Attempt;
pub use self::decide::decide;
pub use self::mark::Mark;
use self::memory::Attempts;
#[cfg(test)]
pub(crate) use self::plan::CordonOutcome;
pub(crate) use self::plan::{Outcome, Plan};
pub(crate) use self::pod::Pod;
use self::pod_action::PodAction;
pub use self::report::report;
pub(crate) use self::snapshot::View;
pub use self::snapshot::{StoredStep, Subject};
pub use self::step::Step;
pub use self::timeout::{Limit, Timeout};
use self::volumes::Attachments;
use crate::kinds::Nodes;

/// How long a drain that is not continued is remembered. Each reconcile of a drain extends it.
pub(crate) const MEMORY: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub struct Drainer {
    nodes: Arc<Cache<Nodes>>,
    session: Session,
    attachments: Attachments,
    attempts: Attempts,
    /// Held while a control-plane node is cordoned, so that only one is. The lease makes one process enough.
    control_plane: tokio::sync::Mutex<()>,
    clock: SharedClock,
    timings: MachineTimings,
}

impl Drainer {
    /// Drains Nodes of this cache; `session` reads pods and volumes in the same cluster.
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
            attempts: Attempts::default(),
            control_plane: tokio::sync::Mutex::default(),
            clock,
            timings,
        }
    }

    pub fn forget(&self, machine: &Uid) {
        self.attempts.forget(machine);
    }
}
