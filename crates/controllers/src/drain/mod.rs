//! Drains Nodes: cordon, evict, wait for pods and volumes. One step per reconcile; no stage waits.
//!
//! Used by the machine controller and the recycler, with the stages of a controller. Input: the machine, its Node from
//! the cache, and live lists once the drain has begun. Output: a cordon, evictions, the condition `Drained`, Events.
//!
//! State that must survive a crash is on the Node ([`Mark`]) and in the condition ([`Step`]). Refused evictions are in
//! memory only ([`attempts`]). preTerminate hooks and the deletion of the Node are not here.

mod act;
pub mod attempt;
pub mod attempts;
pub mod blockers;
pub mod decide;
mod mark;
mod messages;
pub mod node_match;
mod observe;
pub mod plan;
mod pod;
pub mod pod_action;
pub mod report;
pub mod snapshot;
mod step;
mod volumes;

use std::sync::Arc;

use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::cache::Cache;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::Session;
use machinist_runtime::writer::Writer;

pub use self::attempt::Attempt;
use self::attempts::Attempts;
pub use self::decide::decide;
pub use self::mark::Mark;
pub use self::node_match::NodeMatch;
pub use self::plan::{Effect, Outcome, Plan};
pub use self::pod::{Pod, Termination};
pub use self::pod_action::{NodeState, PodAction};
pub use self::report::{DrainReport, report};
pub use self::snapshot::{Subject, View};
pub use self::step::Step;
use self::volumes::Attachments;
use crate::kinds::Nodes;

/// Drains Nodes.
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

    /// Reads what the next step for `subject` needs. Errors are part of the view.
    pub async fn observe(&self, subject: Subject) -> View {
        observe::observe(self, subject).await
    }

    /// Carries out a plan.
    pub async fn act(&self, view: &View, plan: &Plan, writer: &Writer) -> Outcome {
        act::act(self, view, plan, writer).await
    }

    /// Forgets a deleted Machine.
    pub fn forget(&self, machine: &Uid) {
        self.attempts.forget(machine);
    }
}
