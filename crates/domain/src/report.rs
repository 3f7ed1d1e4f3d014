//! What a reconcile reports: status patch, Events, a result for the metrics, and when to requeue.
//!
//! A report is data. The driver in `runtime` carries it out, so `report` stays pure.

use crate::retry::Retry;

/// The reasons of machinist's Events. Alerts depend on them: none is renamed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventReason {
    /// A MachineSet adopted an orphaned Machine.
    Adopted,
    /// The capacity annotations were added or changed.
    Annotated,
    /// A wrong architecture in the annotations was corrected.
    ArchitectureReplaced,
    /// The cloud API failed, and the built-in catalogue provided the capacity.
    CatalogueUsed,
    /// An instance was created.
    Create,
    /// The creation exceeded the creation timeout and continues.
    CreationTimedOut,
    /// An instance was terminated.
    Delete,
    /// A lifecycle hook blocks the drain.
    DrainBlocked,
    /// The drain deadline passed; remaining pods are deleted by force.
    DrainForced,
    /// The drain evicts pods.
    DrainProceeds,
    /// The drain is blocked and will be retried.
    DrainRequeued,
    /// The drain is not needed or excluded.
    DrainSkipped,
    /// The Node is drained.
    DrainSucceeded,
    /// A Machine or an instance could not be created.
    FailedCreate,
    /// A Machine or an instance could not be deleted.
    FailedDelete,
    /// The instance type is unknown; the annotations are unchanged.
    FailedUpdate,
    /// The object is not valid.
    FailedValidate,
    /// A Machine failed permanently.
    MachineFailed,
    /// The Machine of a Node is ambiguous.
    NodeNotLinked,
    /// The object or a referenced object is invalid, or a request failed.
    ReconcileError,
    /// A node group reached its threshold, and its recycle starts.
    RecycleBegins,
    /// The recycle of a node group failed.
    RecycleFailed,
    /// The recycle of a node group reached the next step.
    RecycleProceeds,
    /// A node group cannot be recycled in its current state.
    RecycleRefused,
    /// A node group was recycled.
    Recycled,
    /// A MachineSet released a Machine that its selector no longer matches.
    Released,
    /// Machines were created or deleted to match `spec.replicas`.
    Scaled,
    /// An instance was updated in place.
    Update,
    /// An annotation that a user set differs from the computed value and is kept.
    UserValueKept,
    /// A node group would be recycled without dry run.
    WouldRecycle,
}

impl EventReason {
    /// Every reason, for docs and tests.
    pub const ALL: [Self; 30] = [
        Self::Adopted,
        Self::Annotated,
        Self::ArchitectureReplaced,
        Self::CatalogueUsed,
        Self::Create,
        Self::CreationTimedOut,
        Self::Delete,
        Self::DrainBlocked,
        Self::DrainForced,
        Self::DrainProceeds,
        Self::DrainRequeued,
        Self::DrainSkipped,
        Self::DrainSucceeded,
        Self::FailedCreate,
        Self::FailedDelete,
        Self::FailedUpdate,
        Self::FailedValidate,
        Self::MachineFailed,
        Self::NodeNotLinked,
        Self::ReconcileError,
        Self::RecycleBegins,
        Self::RecycleFailed,
        Self::RecycleProceeds,
        Self::RecycleRefused,
        Self::Recycled,
        Self::Released,
        Self::Scaled,
        Self::Update,
        Self::UserValueKept,
        Self::WouldRecycle,
    ];

    /// The reason in the Event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adopted => "Adopted",
            Self::Annotated => "Annotated",
            Self::ArchitectureReplaced => "ArchitectureReplaced",
            Self::CatalogueUsed => "CatalogueUsed",
            Self::Create => "Create",
            Self::CreationTimedOut => "CreationTimedOut",
            Self::Delete => "Delete",
            Self::DrainBlocked => "DrainBlocked",
            Self::DrainForced => "DrainForced",
            Self::DrainProceeds => "DrainProceeds",
            Self::DrainRequeued => "DrainRequeued",
            Self::DrainSkipped => "DrainSkipped",
            Self::DrainSucceeded => "DrainSucceeded",
            Self::FailedCreate => "FailedCreate",
            Self::FailedDelete => "FailedDelete",
            Self::FailedUpdate => "FailedUpdate",
            Self::FailedValidate => "FailedValidate",
            Self::MachineFailed => "Failed",
            Self::NodeNotLinked => "NodeNotLinked",
            Self::ReconcileError => "ReconcileError",
            Self::RecycleBegins => "RecycleBegins",
            Self::RecycleFailed => "RecycleFailed",
            Self::RecycleProceeds => "RecycleProceeds",
            Self::RecycleRefused => "RecycleRefused",
            Self::Recycled => "Recycled",
            Self::Released => "Released",
            Self::Scaled => "Scaled",
            Self::Update => "Update",
            Self::UserValueKept => "UserValueKept",
            Self::WouldRecycle => "WouldRecycle",
        }
    }
}

/// The type of an Event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Information.
    Normal,
    /// A problem.
    Warning,
}

impl EventType {
    /// The type in the Event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An Event about the reconciled object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// Normal or Warning.
    pub event_type: EventType,
    /// The reason.
    pub reason: EventReason,
    /// The action that was taken or failed, one word.
    pub action: &'static str,
    /// The message.
    pub note: String,
}

impl EventNote {
    /// A Normal Event.
    pub fn normal(reason: EventReason, action: &'static str, note: impl Into<String>) -> Self {
        Self { event_type: EventType::Normal, reason, action, note: note.into() }
    }

    /// A Warning Event.
    pub fn warning(reason: EventReason, action: &'static str, note: impl Into<String>) -> Self {
        Self { event_type: EventType::Warning, reason, action, note: note.into() }
    }
}

/// How a reconcile ended, the label `result` of `machinist_reconcile_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReconcileResult {
    /// Nothing to do.
    Settled,
    /// Waiting for a pending answer.
    Waiting,
    /// Something was written.
    Changed,
    /// The object is invalid; waiting for a change.
    Refused,
    /// A failure that will be retried.
    Failed,
}

impl ReconcileResult {
    /// The value of the metric's `result` label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Waiting => "waiting",
            Self::Changed => "changed",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// What a reconcile reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The result for the metrics.
    pub result: ReconcileResult,
    /// A merge patch of the status; `None` if it is up to date.
    pub status: Option<serde_json::Value>,
    /// Events about the object.
    pub events: Vec<EventNote>,
    /// When to requeue; `None` means at the next change or resync.
    pub retry: Option<Retry>,
}

impl Report {
    /// A report with nothing but its result.
    pub fn quiet(result: ReconcileResult) -> Self {
        Self { result, status: None, events: Vec::new(), retry: None }
    }
}
