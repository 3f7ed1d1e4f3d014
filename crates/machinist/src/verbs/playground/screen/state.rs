//! What the view shows, as data.

use jiff::Timestamp;

use crate::verbs::playground::view::Row;

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) fleet: FleetState,
    pub(crate) sets: Vec<Row>,
    pub(crate) log: Log,
    pub(crate) export: String,
    pub(crate) commands: Vec<String>,
    /// Why the objects could not be read the last time.
    pub(crate) trouble: Option<String>,
}

/// The MachineDeployments, all Machines and their instances.
#[derive(Debug, Default)]
pub(crate) struct FleetState {
    /// Name, counts and reason of each, as kubectl shows them.
    pub(crate) deployments: Vec<Vec<String>>,
    /// The condition `Progressing` of one that is not complete: whether it is False, and its message.
    pub(crate) progress: (bool, String),
    pub(crate) machines: Vec<MachineRow>,
    pub(crate) instances: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct MachineRow {
    pub(crate) name: String,
    pub(crate) phase: String,
    pub(crate) node: String,
    pub(crate) created: Option<Timestamp>,
    /// Why it is not ready.
    pub(crate) why: String,
    pub(crate) health: Health,
}

/// In the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Health {
    Failed,
    /// It starts, is not ready, or is being deleted.
    Unready,
    Ready,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) path: String,
    pub(crate) lines: usize,
}
